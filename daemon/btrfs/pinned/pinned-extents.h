/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/pinned/extent-pin.h"
#include "daemon/context/pass.h"

/*
 * PinnedExtents - extents whose deduplication would free nothing.  They are remembered with their causes, so that
 * they are planned again when a cause ends.
 *
 * A pass examines pinned extents only: those whose items lie in leaves of the extent tree that changed; the files
 * that keep some, in leaves of their subvolumes' trees that changed; and the subvolumes, of which one may be gone.
 * While nothing is pinned it examines nothing.  An extent whose cause may have ended gets a new id, with copies of
 * its anchors, so that it is matched again without reading.  An extent that is pinned as before is not touched.
 *
 * Thread: the filesystem's worker, never while it deduplicates.
 */
typedef struct PinnedExtents PinnedExtents;

PinnedExtents *pinned_extents_new(Pass *pass);
void pinned_extents_free(PinnedExtents *pinned);

/*
 * See the extent at @address, which is there and has @refs references by its item.  To be called by
 * ascending address.
 */
bool pinned_extents_see(PinnedExtents *pinned, uint64_t address, uint64_t refs, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Look at what changed in files and subvolumes since the transaction @since.  The bytes of items that
 * it looked through are added to *looked_through_bytes.
 */
bool pinned_extents_look(PinnedExtents *pinned, uint64_t since, uint64_t *looked_through_bytes,
			 GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Take all to be over, since nothing tells of what else may cover them now. */
bool pinned_extents_look_at_all(PinnedExtents *pinned, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Take the extent at @address for one of which the cause ended. */
void pinned_extents_reopen(PinnedExtents *pinned, uint64_t address);

/*
 * The extent at @address equals others that are pinned in part, and was no target itself: it is to be planned for once
 * more, with these as sources.  @others are their marks (ReplanList).  Returns false, and nothing happens, if none is
 * new: so was it in this pass already.
 */
bool pinned_extents_turn(PinnedExtents *pinned, uint64_t address, uint64_t others);

/* Whether that was said of the extent at @address. */
bool pinned_extents_was_turned(const PinnedExtents *pinned, uint64_t address);

/* The addresses of all of which the cause may have ended (uint64_t); to be freed. */
GArray *pinned_extents_list_over(const PinnedExtents *pinned);

/* Unsettle those whose cause may have ended; *ret_n is how many. */
bool pinned_extents_renew(PinnedExtents *pinned, uint64_t *ret_n, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Remember that @extent is pinned, unless what is known of it holds, or the pass only tries; with
 * @is_news it is counted, too.
 */
bool pinned_extents_put(PinnedExtents *pinned, const Object *extent, const ExtentPin *pin,
			bool is_news, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PinnedExtents, pinned_extents_free)
