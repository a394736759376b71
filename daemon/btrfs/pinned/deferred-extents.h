/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"
#include "hashstore/objects/pinned.h"

/*
 * DeferredExtents - extents of btrfs to which the pass redirected all writable references.  They are freed when
 * the read-only snapshots that still refer to them are deleted.
 *
 * They do not count as freed.  The store remembers them among the pinned extents, with the set of snapshots that
 * hold each (its holders).  When the newest of these is gone, the pass asks the kernel for the present references.
 * That takes one call and reads nothing.  An extent that is gone counts as released.
 *
 * The intent is recorded before the first byte is shared, as a pass may be killed between that and its commit.
 * The next pass would not know that the extent is held, and would share the copy of its remainder back onto it.
 *
 * Thread: the filesystem's worker, never while it deduplicates.
 */
typedef struct DeferredExtents DeferredExtents;

DeferredExtents *deferred_extents_new(Pass *pass);
void deferred_extents_free(DeferredExtents *deferred);

/* Sum up the deferred extents before any is looked at. */
bool deferred_extents_begin(DeferredExtents *deferred, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Put @extent: no writable file references it any more, and @holders (uint64_t, ascending, one at least) hold it.  If
 * others do, too, as it was cloned meanwhile, that is found when the newest of @holders is gone.
 */
bool deferred_extents_put(DeferredExtents *deferred, const Object *extent, const GArray *holders,
			  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* @extent is about to be shared away.  Nothing may be shared before deferred_extents_note(). */
void deferred_extents_intend(DeferredExtents *deferred, const Object *extent);

/* Write and commit the intents, if they are not written. */
bool deferred_extents_note(DeferredExtents *deferred, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The outcome for @extent is in the store, or there was none. */
void deferred_extents_end_intent(DeferredExtents *deferred, const Object *extent);

/*
 * Put the extents that an earlier pass intended to share away, did, and could not put any more.  Read-only subvolumes
 * are known.
 */
bool deferred_extents_recover(DeferredExtents *deferred, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Check what became of the extent of @row.  *ret_is_over: a writable file references it again. */
bool deferred_extents_check(DeferredExtents *deferred, const PinnedExtent *row, bool *ret_is_over,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether one of @subvolumes (BtrfsSubvolume) held extents while it was read-only, and is no longer. */
bool deferred_extents_have_writable(DeferredExtents *deferred, const GArray *subvolumes, bool *ret,
				    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The deferral of the extent at @address ends otherwise than by the deletion of snapshots. */
bool deferred_extents_take(DeferredExtents *deferred, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * The extent at @address is gone, or another one is there.  If snapshots that exist still held it, it was moved,
 * as by a balance, and not freed.
 */
bool deferred_extents_lose(DeferredExtents *deferred, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The used sources of @steps (ExtentStep) stay, also when all snapshots are deleted. */
bool deferred_extents_revive(DeferredExtents *deferred, const GArray *steps, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Fill in the result: the deferred extents, their holders, and the released bytes. */
bool deferred_extents_end(DeferredExtents *deferred, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DeferredExtents, deferred_extents_free)
