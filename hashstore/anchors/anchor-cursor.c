/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchor-cursor.h"

#include "hashstore/anchors/merged-cursor.h"
#include "hashstore/database/snapshot-query.h"

struct AnchorCursor {
	StoreSnapshot *snapshot; /* not owned */
	SegmentReader *reader;
	GPtrArray *segments; /* of Segment */
	MergedCursor *merge;
};

AnchorCursor *anchor_cursor_open_in(StoreSnapshot *snapshot, GError **error)
{
	g_autoptr(AnchorCursor) cursor = g_new0(AnchorCursor, 1);

	cursor->snapshot = snapshot;
	cursor->reader = segment_reader_new(snapshot->database, false, error);
	if (!cursor->reader)
		return NULL;
	cursor->segments = segment_list(snapshot->database, error);
	if (!cursor->segments)
		return NULL;
	cursor->merge =
		merged_cursor_new(cursor->reader, cursor->segments, snapshot->store->memory_bytes);

	return g_steal_pointer(&cursor);
}

bool anchor_cursor_next(AnchorCursor *cursor, const Anchor **ret, size_t *ret_n, GError **error)
{
	return merged_cursor_next(cursor->merge, ret, ret_n, error);
}

void anchor_cursor_close(AnchorCursor *cursor)
{
	if (!cursor)
		return;

	merged_cursor_free(cursor->merge);
	g_clear_pointer(&cursor->segments, g_ptr_array_unref);
	segment_reader_free(cursor->reader);
	g_free(cursor);
}
