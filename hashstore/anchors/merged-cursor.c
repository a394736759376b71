/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/merged-cursor.h"

#include "hashstore/anchors/anchor-sort.h"

/* The most pages that a cursor reads at a time: a sequential megabyte is worth a seek. */
#define SLOTS_MAX 256

struct MergedCursor {
	GPtrArray *cursors; /* of SegmentCursor, for each segment */
	GPtrArray *active;  /* those of them that have anchors left */
	AnchorRun *runs;    /* the anchors of each cursor for the round */
	Anchor *round;
	size_t round_size;
};

MergedCursor *merged_cursor_new(SegmentReader *reader, const GPtrArray *segments,
				size_t memory_bytes)
{
	MergedCursor *merged = g_new0(MergedCursor, 1);
	size_t share_bytes = memory_bytes / MAX(segments->len, 1) / 2;
	unsigned n_slots = 1;

	while (n_slots < SLOTS_MAX && segment_cursor_bytes(n_slots * 2) <= share_bytes)
		n_slots *= 2;

	merged->cursors = g_ptr_array_new_with_free_func((GDestroyNotify)segment_cursor_free);
	merged->active = g_ptr_array_new();
	merged->runs = g_new(AnchorRun, segments->len);
	for (guint i = 0; i < segments->len; i++) {
		SegmentCursor *cursor = segment_cursor_new(reader, segments->pdata[i], n_slots);

		g_ptr_array_add(merged->cursors, cursor);
		g_ptr_array_add(merged->active, cursor);
	}

	return merged;
}

void merged_cursor_free(MergedCursor *merged)
{
	if (!merged)
		return;

	g_ptr_array_unref(merged->active);
	g_ptr_array_unref(merged->cursors);
	g_free(merged->runs);
	g_free(merged->round);
	g_free(merged);
}

const GPtrArray *merged_cursor_cursors(const MergedCursor *merged)
{
	return merged->cursors;
}

/* Fill all cursors and drop those at their end.  *ret_bound is the upper bound of the round. */
static bool begin_round(MergedCursor *merged, Anchor *ret_bound, GError **error)
{
	for (guint i = 0; i < merged->active->len;) {
		SegmentCursor *cursor = merged->active->pdata[i];
		const Anchor *last;

		if (!segment_cursor_fill(cursor, error))
			return false;
		if (!segment_cursor_at_hand(cursor)) {
			g_ptr_array_remove_index_fast(merged->active, i);
			continue;
		}
		last = &cursor->entries[cursor->n_entries - 1];
		if (i == 0 || anchor_compare(last, ret_bound) < 0)
			*ret_bound = *last;
		i++;
	}

	return true;
}

/* Take the anchors at hand up to @bound; they stay valid until the cursor is filled again. */
static AnchorRun take(SegmentCursor *cursor, const Anchor *bound)
{
	unsigned begin = cursor->next, end = cursor->n_entries;
	unsigned first = cursor->next;

	/* In stores from before version 17, anchors of one digest may be in any order, so all may be up to the last. */
	if (anchor_compare(&cursor->entries[end - 1], bound) <= 0)
		begin = end;
	while (begin < end) {
		unsigned middle = begin + (end - begin) / 2;

		if (anchor_compare(&cursor->entries[middle], bound) <= 0)
			begin = middle + 1;
		else
			end = middle;
	}
	cursor->next = begin;

	return (AnchorRun){ &cursor->entries[first], begin - first };
}

bool merged_cursor_next(MergedCursor *merged, const Anchor **ret, size_t *ret_n, GError **error)
{
	Anchor bound = { 0 };
	size_t n = 0;

	if (!begin_round(merged, &bound, error))
		return false;

	for (guint i = 0; i < merged->active->len; i++) {
		merged->runs[i] = take(merged->active->pdata[i], &bound);
		n += merged->runs[i].n_anchors;
	}
	if (merged->active->len == 1) {
		*ret = merged->runs[0].anchors;
		*ret_n = n;
		return true;
	}

	if (n > merged->round_size) {
		g_free(merged->round);
		merged->round = g_new(Anchor, n);
		merged->round_size = n;
	}

	anchor_sort_runs(merged->runs, merged->active->len, merged->round);
	*ret = merged->round;
	*ret_n = anchor_unique(merged->round, n);

	return true;
}
