/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store.h"

/*
 * Segments - which segments a store has, and when they are merged.
 *
 * A pass writes one whenever its memory is full and at each commit.  When these become too many,
 * those of similar size are merged.  What a pass leaves at its end is merged with older ones until
 * each is several times as large as all smaller ones together, so that an anchor is rewritten a
 * logarithmic number of times and a look-up meets few segments.
 *
 * A merge reads and deletes what it merges page by page, so that it needs no more space.  It has a
 * transaction of its own, which is rolled back when the store is asked to stop: the segments are
 * then as they were.
 *
 * Thread: the filesystem's worker.
 */

/* Segments of unsettled anchors at most, given the memory that a merge of all would have. */
unsigned segments_unsettled_max(size_t memory_bytes);

/* Merge unsettled ones while there are too many.  All is committed, before and after. */
bool segments_limit_unsettled(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Keep all changes so far: sorts and packs the anchors held in memory into a segment, and commits.
 * Then merges segments when there are too many, unless asked to stop.  Does nothing when nothing
 * changed.
 */
bool hash_store_commit(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Called when a pass got through to its end: commits, then settles all objects and merges the
 * segments as the size rule asks (at most 8 stay), entries of objects for which @is_live says false
 * falling out.  That is left to the next commit.
 *
 * Asked to stop, it settles nothing and leaves the segments as they were:
 * hash_store_settled_below() tells.
 */
bool hash_store_settle(HashStore *store, bool (*is_live)(uint32_t object, void *data), void *data,
		       GError **error) G_GNUC_WARN_UNUSED_RESULT;
