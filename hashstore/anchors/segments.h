/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store.h"

/*
 * Segments - which segments a store has, and when they are merged.
 *
 * A pass writes a segment whenever its memory is full, and at each commit.  If there are too many, those of
 * similar size are merged.  At the end of a pass, its segments are merged with older ones until each is
 * several times as large as all smaller ones together.  So an anchor is rewritten a logarithmic number of
 * times, and a look-up meets few segments.
 *
 * A merge reads and deletes its sources page by page, so it needs no additional space.  It has a transaction
 * of its own, which is rolled back after a request to stop.
 *
 * Thread: the filesystem's worker.
 */

/* The most segments of unsettled anchors, given the memory for a merge of all. */
unsigned segments_unsettled_max(size_t memory_bytes);

/* Merge unsettled segments while there are too many.  Everything is committed before and after. */
bool segments_limit_unsettled(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Commit all changes: the anchors in memory become a segment.  Then merge segments if there are too many,
 * unless asked to stop.  Does nothing if nothing changed.
 */
bool hash_store_commit(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * End a complete pass: commit, settle all objects, and merge segments by the size rule, so that at most 8
 * stay.  Entries of objects for which @is_live returns false are dropped.  The next commit commits this.
 *
 * After a request to stop nothing is settled and no segment changes: see hash_store_settled_below().
 */
bool hash_store_settle(HashStore *store, bool (*is_live)(uint32_t object, void *data), void *data,
		       GError **error) G_GNUC_WARN_UNUSED_RESULT;
