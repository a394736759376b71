/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"
#include "hashstore/database/store.h"

/*
 * Segments - which segments a store has, and when they are merged.
 *
 * A pass collects anchors in memory.  It writes them as a segment when the memory is full, and at each commit.
 * If there are too many, those of similar size are merged.  At the end of a pass, its own segments of similar size
 * are merged.  Those of earlier passes stay as they are until there are more than 16.  Then the smallest are merged,
 * until the next one is as large as they are together.  So an anchor of a small daily pass is written about 3 times
 * in a year, and a look-up meets few segments.
 *
 * A pass that made many anchors dead, by freeing extents or planning them again, ends with a merge of all segments.
 *
 * Each pass also rewrites one segment that an earlier version of the store wrote, which takes more space.
 *
 * A merge reads and deletes its sources page by page, and commits parts of them, so it needs little additional space.
 * A request to stop loses the part that was begun: see segment-merge.h.
 *
 * Thread: the filesystem's worker.
 */

/* Store @anchor, with anchor_digest() of its digest.  The row of its object may follow later in the same commit. */
bool hash_store_put_anchor(HashStore *store, const Anchor *anchor, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Count the anchors in all segments, and the segments. */
bool hash_store_count_anchors(HashStore *store, uint64_t *ret_anchors, uint32_t *ret_segments,
			      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Write the anchors held in memory as a segment. */
bool hash_store_flush_anchors(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Commit all changes: the anchors in memory become a segment.  Then merge segments if there are too many,
 * unless asked to stop.  Does nothing if nothing changed.
 */
bool hash_store_commit(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * End a complete pass: commit, settle all objects, and merge segments by the size rule, so that at most 16
 * stay.  Entries of objects for which @is_live returns false are dropped.  The next commit commits this.
 *
 * After a request to stop nothing is settled: see hash_store_settled_below().
 */
bool hash_store_settle(HashStore *store, bool (*is_live)(uint32_t object, void *data), void *data,
		       GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Whether more than an eighth of the store's anchors are of no object any more.  These are the
 * former ones of objects that were renewed since the store was opened, and those of objects that
 * were dropped.  The latter had @dropped_blocks blocks.
 */
bool hash_store_has_many_dead(HashStore *store, uint64_t dropped_blocks, bool *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Merge all segments, without entries of objects for which @is_live returns false.  Commit before @is_live learns which
 * objects there are.  The next commit commits the last part of the merge.  After a request to stop, dead entries may stay.
 */
bool hash_store_drop_dead(HashStore *store, bool (*is_live)(uint32_t object, void *data),
			  void *data, GError **error) G_GNUC_WARN_UNUSED_RESULT;
