/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/pinned/extent-pin.h"
#include "daemon/context/pass.h"

/*
 * PinnedExtents - extents that deduplication would not free.  The store has their causes, so that they are planned
 * again when a cause ends.
 *
 * A pass examines only pinned extents whose items are in changed leaves of the extent tree, or that
 * files in changed leaves of subvolume trees keep.  It also examines the subvolumes, of which one
 * may be gone.  Without pinned extents it examines nothing.  An extent whose cause may have ended
 * gets a new id with copies of its anchors, so that it is matched again without reading.  An extent
 * that stays pinned is not touched.
 *
 * Thread: the filesystem's worker, never while it deduplicates.
 */
typedef struct PinnedExtents PinnedExtents;

PinnedExtents *pinned_extents_new(Pass *pass);
void pinned_extents_free(PinnedExtents *pinned);

/*
 * Check the extent at @address, which exists and has @refs references by its item.  To be called in the order of
 * addresses.
 */
bool pinned_extents_check_at(PinnedExtents *pinned, uint64_t address, uint64_t refs, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Check what changed in files and subvolumes since the transaction @since.  *looked_through_bytes grows by the
 * items looked through.
 */
bool pinned_extents_check_changed(PinnedExtents *pinned, uint64_t since,
				  uint64_t *looked_through_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Treat all causes as ended, because nothing tells whether new extents could cover them.  Deferred extents are only
 * checked.
 */
bool pinned_extents_reopen_all(PinnedExtents *pinned, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Treat the cause of the extent at @address as ended. */
void pinned_extents_reopen(PinnedExtents *pinned, uint64_t address);

/*
 * The extent at @address equals parts of pinned extents and was no target itself: plan it once more, with these as
 * sources.  @others are their marks (ReplanList).  Returns false, and does nothing, if none is new: then it was
 * planned so in this pass already.
 */
bool pinned_extents_replan(PinnedExtents *pinned, uint64_t address, uint64_t others);

/*
 * The same when pinned_extents_replan_waiting() is called next.  Extents that are planned again now may need this one as
 * a source until then.
 */
void pinned_extents_replan_later(PinnedExtents *pinned, uint64_t address, uint64_t others);

/* Plan the extents that were left for later once more; returns the number of those that are. */
uint64_t pinned_extents_replan_waiting(PinnedExtents *pinned);

/* Whether pinned_extents_replan() was called for the extent at @address. */
bool pinned_extents_was_replanned(const PinnedExtents *pinned, uint64_t address);

/*
 * Whether @extent was pinned by an earlier pass, and is planned again since: by this pass, or by one that was stopped.
 * After pinned_extents_reopen_all() it is false for all.
 */
bool pinned_extents_is_old(const PinnedExtents *pinned, const Object *extent);

/* Whether this pass neither found @extent nor planned it again. */
bool pinned_extents_is_untouched(const PinnedExtents *pinned, const Object *extent);

/* The addresses (uint64_t) of all extents whose cause may have ended; to be freed. */
GArray *pinned_extents_list_over(const PinnedExtents *pinned);

/* Unsettle those whose cause may have ended; *ret_n: the number of these. */
bool pinned_extents_renew(PinnedExtents *pinned, uint64_t *ret_n, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Store that @extent is pinned, unless it is deferred or this is a dry run.  With @is_news it is counted, too.
 */
bool pinned_extents_put(PinnedExtents *pinned, const Object *extent, const ExtentPin *pin,
			bool is_news, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PinnedExtents, pinned_extents_free)
