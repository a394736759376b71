/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/segment-cursor.h"

/*
 * MergedCursor - the anchors of several segments in one order, each once.
 *
 * It works in rounds.  The bound of a round is the least of the cursors' last anchors at hand; all anchors up
 * to it are sorted together.  A round fits the processor's cache, whatever the number of segments.
 *
 * Thread: the filesystem's worker.
 */
typedef struct MergedCursor MergedCursor;

/* @segments (Segment) and @reader must outlive the cursor, which takes about @memory_bytes. */
MergedCursor *merged_cursor_new(SegmentReader *reader, const GPtrArray *segments,
				size_t memory_bytes);
void merged_cursor_free(MergedCursor *merged);

/* The cursor of each of the segments, in their order. */
const GPtrArray *merged_cursor_cursors(const MergedCursor *merged);

/* The next anchors, valid until the next call; *ret_n is 0 at the end. */
bool merged_cursor_next(MergedCursor *merged, const Anchor **ret, size_t *ret_n, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MergedCursor, merged_cursor_free)
