/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/segment-merge.h"

#include "hashstore/anchors/anchor-sort.h"

/* The most pages that a cursor reads at a time: a sequential megabyte is worth a seek. */
#define SLOTS_MAX 256

struct SegmentMerge {
	GPtrArray *cursors; /* of SegmentCursor, for each segment */
	GPtrArray *active;  /* those of them that have anchors left */
	AnchorRun *runs;    /* the anchors of each cursor for the round */
	Anchor *round;
	size_t round_size;
};

SegmentMerge *segment_merge_new(SegmentReader *reader, const GPtrArray *segments,
				size_t memory_bytes)
{
	SegmentMerge *merge = g_new0(SegmentMerge, 1);
	size_t share_bytes = memory_bytes / MAX(segments->len, 1) / 2;
	unsigned n_slots = 1;

	while (n_slots < SLOTS_MAX && segment_cursor_bytes(n_slots * 2) <= share_bytes)
		n_slots *= 2;

	merge->cursors = g_ptr_array_new_with_free_func((GDestroyNotify)segment_cursor_free);
	merge->active = g_ptr_array_new();
	merge->runs = g_new(AnchorRun, segments->len);
	for (guint i = 0; i < segments->len; i++) {
		SegmentCursor *cursor = segment_cursor_new(reader, segments->pdata[i], n_slots);

		g_ptr_array_add(merge->cursors, cursor);
		g_ptr_array_add(merge->active, cursor);
	}

	return merge;
}

void segment_merge_free(SegmentMerge *merge)
{
	if (!merge)
		return;

	g_ptr_array_unref(merge->active);
	g_ptr_array_unref(merge->cursors);
	g_free(merge->runs);
	g_free(merge->round);
	g_free(merge);
}

const GPtrArray *segment_merge_cursors(const SegmentMerge *merge)
{
	return merge->cursors;
}

/* Fill all cursors and drop those at their end.  *ret_bound is the upper bound of the round. */
static bool begin_round(SegmentMerge *merge, Anchor *ret_bound, GError **error)
{
	for (guint i = 0; i < merge->active->len;) {
		SegmentCursor *cursor = merge->active->pdata[i];
		const Anchor *last;

		if (!segment_cursor_fill(cursor, error))
			return false;
		if (!segment_cursor_at_hand(cursor)) {
			g_ptr_array_remove_index_fast(merge->active, i);
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

bool segment_merge_next(SegmentMerge *merge, const Anchor **ret, size_t *ret_n, GError **error)
{
	Anchor bound = { 0 };
	size_t n = 0;

	if (!begin_round(merge, &bound, error))
		return false;

	for (guint i = 0; i < merge->active->len; i++) {
		merge->runs[i] = take(merge->active->pdata[i], &bound);
		n += merge->runs[i].n_anchors;
	}
	if (merge->active->len == 1) {
		*ret = merge->runs[0].anchors;
		*ret_n = n;
		return true;
	}

	if (n > merge->round_size) {
		g_free(merge->round);
		merge->round = g_new(Anchor, n);
		merge->round_size = n;
	}

	anchor_sort_runs(merge->runs, merge->active->len, merge->round);
	*ret = merge->round;
	*ret_n = anchor_unique(merge->round, n);

	return true;
}
