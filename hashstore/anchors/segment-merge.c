/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/segment-merge.h"

#include "hashstore/anchors/merged-cursor.h"
#include "hashstore/database/store-connection.h"
#include "hashstore/database/store-transaction.h"

/* Objects counted between two looks at the stop flag. */
#define COUNT_STEP 65536

/*
 * The anchors of a part would fill the store's memory so many times.  Packed into pages they take less than half of
 * that.  At the end of a part, cursors put back the pages that they had read ahead: half of the memory at most.
 */
#define PART_MEMORIES UINT64_C(8)

typedef struct {
	/* Set at creation, never changed. */
	HashStore *store;
	const Liveness *liveness; /* or NULL */
	SegmentWriter *writer;

	GPtrArray *sources; /* the segments of which something is left; not owned */
	Anchor *live;
	size_t live_size;
} Merge;

/* Copy the entries of live objects. */
static size_t keep_live(Anchor *to, const Anchor *anchors, size_t n_anchors,
			const Liveness *liveness)
{
	size_t n = 0;

	for (size_t i = 0; i < n_anchors; i++) {
		if (liveness->is_live(anchors[i].object, liveness->data))
			to[n++] = anchors[i];
	}

	return n;
}

uint64_t segment_count_live(const HashStore *store, const GPtrArray *segments,
			    const Liveness *liveness)
{
	uint32_t min_object = UINT32_MAX, max_object = 0;
	uint64_t n = 0;

	for (guint i = 0; i < segments->len; i++) {
		const Segment *segment = segments->pdata[i];

		min_object = MIN(min_object, segment->min_object);
		max_object = MAX(max_object, segment->max_object);
	}
	for (uint64_t object = min_object; object <= max_object; object++) {
		if (object % COUNT_STEP == 0 && !hash_store_may_continue(store))
			break;
		n += liveness->is_live((uint32_t)object, liveness->data);
	}

	return n;
}

/* @segment has no pages any more. */
static bool drop_segment(HashStore *store, const Segment *segment, GError **error)
{
	const uint64_t first = (uint64_t)segment->first_fence;
	const uint64_t fences[] = { first, first + segment->fences->len / FENCE_BYTES };
	const uint64_t id = (uint64_t)segment->id;

	return hash_store_change_rows(store, STATEMENT_DROP_FENCES, fences, error) &&
	       hash_store_change_rows(store, STATEMENT_DROP_MERGED, &id, error) &&
	       hash_store_change_rows(store, STATEMENT_DROP_SEGMENT, &id, error);
}

/* Store how far @segment was merged. */
static bool save_merged(HashStore *store, const Segment *segment, GError **error)
{
	const uint64_t id = (uint64_t)segment->id;
	const uint64_t anchors[] = { segment->anchors, id };
	const uint64_t pages[] = { id, segment->merged_pages };
	const uint64_t below[] = { id, segment->merged_below };

	return hash_store_change_rows(store, STATEMENT_SET_ANCHORS, anchors, error) &&
	       hash_store_change_rows(store, STATEMENT_PUT_MERGED_PAGES, pages, error) &&
	       hash_store_change_rows(store, STATEMENT_PUT_MERGED_BELOW, below, error);
}

/* The number of anchors before those of the last digest. */
static size_t n_before_last(const Anchor *anchors, size_t n_anchors)
{
	size_t n = n_anchors;

	while (n > 0 && anchors[n - 1].digest == anchors[n_anchors - 1].digest)
		n--;

	return n;
}

static bool put_live(Merge *merge, const Anchor *anchors, size_t n, GError **error)
{
	const Liveness *liveness = merge->liveness;

	if (liveness) {
		if (n > merge->live_size) {
			g_free(merge->live);
			merge->live = g_new(Anchor, n);
			merge->live_size = n;
		}
		n = keep_live(merge->live, anchors, n, liveness);
		anchors = merge->live;
	}

	return segment_writer_add(merge->writer, anchors, n, error);
}

/*
 * Copy a part of @cursor, or less after a request to stop.  *ret_below is the digest with which the next part begins;
 * *ret_is_last: there is none.
 */
static bool copy_part(Merge *merge, MergedCursor *cursor, uint64_t *ret_below, bool *ret_is_last,
		      GError **error)
{
	const HashStore *store = merge->store;
	uint64_t left = PART_MEMORIES * store->memory_bytes / sizeof(Anchor);

	*ret_below = 0;
	*ret_is_last = false;
	while (hash_store_may_continue(store)) {
		const Anchor *anchors;
		size_t n, n_before = 0;

		if (!merged_cursor_next(cursor, &anchors, &n, error))
			return false;
		if (n == 0) {
			*ret_is_last = true;
			return true;
		}

		if (n >= left)
			n_before = n_before_last(anchors, n);
		left -= MIN(left, n);
		*ret_below = anchors[n - 1].digest;
		if (!put_live(merge, anchors, n_before > 0 ? n_before : n, error))
			return false;
		if (n_before > 0)
			return true;
	}

	return true;
}

/* Keep in the sources what is left of them, and drop those of which nothing is. */
static bool cut_sources(Merge *merge, const MergedCursor *cursor, uint64_t below, GError **error)
{
	const GPtrArray *cursors = merged_cursor_cursors(cursor);

	for (guint i = merge->sources->len; i > 0; i--) {
		Segment *source = merge->sources->pdata[i - 1];
		bool done;

		if (!segment_cursor_restore(cursors->pdata[i - 1], below, source, error))
			return false;
		if (source->merged_pages < source->pages) {
			done = save_merged(merge->store, source, error);
		} else {
			done = drop_segment(merge->store, source, error);
			g_ptr_array_remove_index(merge->sources, i - 1);
		}
		if (!done)
			return false;
	}

	return true;
}

/* Commit the part, and copy it into the database, so that the space of its sources can be used again. */
static bool keep_part(Merge *merge, uint64_t n_live, GError **error)
{
	return segment_writer_save(merge->writer, n_live, error) &&
	       hash_store_keep(merge->store, error) &&
	       store_connection_limit_wal(merge->store, 0, error) &&
	       hash_store_begin(merge->store, error);
}

static bool merge_all(Merge *merge, uint64_t n_live, GError **error)
{
	for (;;) {
		g_autoptr(SegmentReader) reader =
			segment_reader_new(merge->store->database, true, error);
		g_autoptr(MergedCursor) cursor = NULL;
		uint64_t below;
		bool is_last;

		if (!reader)
			return false;
		cursor = merged_cursor_new(reader, merge->sources, merge->store->memory_bytes);
		if (!copy_part(merge, cursor, &below, &is_last, error))
			return false;
		if (!hash_store_may_continue(merge->store))
			return true;
		if (is_last)
			break;
		if (!cut_sources(merge, cursor, below, error) || !keep_part(merge, n_live, error))
			return false;
	}

	for (guint i = 0; i < merge->sources->len; i++) {
		if (!drop_segment(merge->store, merge->sources->pdata[i], error))
			return false;
	}

	return segment_writer_save(merge->writer, n_live, error);
}

bool segment_merge(HashStore *store, const GPtrArray *segments, const Liveness *liveness,
		   bool is_counted, GError **error)
{
	g_autoptr(GPtrArray) sources = g_ptr_array_new();
	g_autoptr(SegmentWriter) writer = segment_writer_new(store, error);
	uint64_t n_live = is_counted ? segment_count_live(store, segments, liveness) : 0;
	Merge merge = {
		.store = store, .sources = sources, .writer = writer, .liveness = liveness
	};
	bool done;

	if (!writer)
		return false;
	for (guint i = 0; i < segments->len; i++)
		g_ptr_array_add(sources, segments->pdata[i]);

	done = merge_all(&merge, n_live, error);
	g_free(merge.live);

	return done;
}
