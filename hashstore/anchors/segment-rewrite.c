/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/segment-rewrite.h"

#include "hashstore/anchors/segment-merge.h"
#include "hashstore/database/store-connection.h"
#include "hashstore/database/store-transaction.h"

/* Objects counted between two looks at the stop flag. */
#define COUNT_STEP 65536

/*
 * A part is this many times the store's memory.  At its end, a cursor puts back the pages that it had read ahead, all of
 * them a quarter of the memory at most.
 */
#define PART_MEMORIES 4

typedef struct {
	/* Set at creation, never changed. */
	HashStore *store;
	const Liveness *liveness; /* or NULL */
	SegmentWriter *writer;

	GPtrArray *sources; /* the segments of which something is left; not owned */
	Anchor *live;
	size_t live_size;
} Rewrite;

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

static bool put_live(Rewrite *rewrite, const Anchor *anchors, size_t n, GError **error)
{
	const Liveness *liveness = rewrite->liveness;

	if (liveness) {
		if (n > rewrite->live_size) {
			g_free(rewrite->live);
			rewrite->live = g_new(Anchor, n);
			rewrite->live_size = n;
		}
		n = keep_live(rewrite->live, anchors, n, liveness);
		anchors = rewrite->live;
	}

	return segment_writer_add(rewrite->writer, anchors, n, error);
}

/*
 * Copy a part of @merge, or less after a request to stop.  *ret_below is the digest with which the next part begins;
 * *ret_is_last: there is none.
 */
static bool copy_part(Rewrite *rewrite, SegmentMerge *merge, uint64_t *ret_below, bool *ret_is_last,
		      GError **error)
{
	const HashStore *store = rewrite->store;
	uint64_t full = segment_writer_pages(rewrite->writer) +
			PART_MEMORIES * store->memory_bytes / ANCHOR_PAGE_BYTES;

	*ret_is_last = false;
	while (hash_store_may_continue(store)) {
		const Anchor *anchors;
		size_t n, n_before = 0;

		if (!segment_merge_next(merge, &anchors, &n, error))
			return false;
		if (n == 0) {
			*ret_is_last = true;
			return true;
		}

		if (segment_writer_pages(rewrite->writer) >= full)
			n_before = n_before_last(anchors, n);
		*ret_below = anchors[n - 1].digest;
		if (!put_live(rewrite, anchors, n_before > 0 ? n_before : n, error))
			return false;
		if (n_before > 0)
			return true;
	}

	return true;
}

/* Keep in the sources what is left of them, and drop those of which nothing is. */
static bool cut_sources(Rewrite *rewrite, const SegmentMerge *merge, uint64_t below, GError **error)
{
	const GPtrArray *cursors = segment_merge_cursors(merge);

	for (guint i = rewrite->sources->len; i > 0; i--) {
		Segment *source = rewrite->sources->pdata[i - 1];
		bool done;

		if (!segment_cursor_restore(cursors->pdata[i - 1], below, source, error))
			return false;
		if (source->merged_pages < source->pages) {
			done = save_merged(rewrite->store, source, error);
		} else {
			done = drop_segment(rewrite->store, source, error);
			g_ptr_array_remove_index(rewrite->sources, i - 1);
		}
		if (!done)
			return false;
	}

	return true;
}

/* Commit the part, and copy it into the database, so that the space of its sources can be used again. */
static bool keep_part(Rewrite *rewrite, uint64_t n_live, GError **error)
{
	return segment_writer_save(rewrite->writer, n_live, error) &&
	       hash_store_keep(rewrite->store, error) &&
	       store_connection_limit_wal(rewrite->store, 0, error) &&
	       hash_store_begin(rewrite->store, error);
}

static bool rewrite_all(Rewrite *rewrite, uint64_t n_live, GError **error)
{
	for (;;) {
		g_autoptr(SegmentReader) reader =
			segment_reader_new(rewrite->store->database, true, error);
		g_autoptr(SegmentMerge) merge = NULL;
		uint64_t below;
		bool is_last;

		if (!reader)
			return false;
		merge = segment_merge_new(reader, rewrite->sources, rewrite->store->memory_bytes);
		if (!copy_part(rewrite, merge, &below, &is_last, error))
			return false;
		if (!hash_store_may_continue(rewrite->store))
			return true;
		if (is_last)
			break;
		if (!cut_sources(rewrite, merge, below, error) ||
		    !keep_part(rewrite, n_live, error))
			return false;
	}

	for (guint i = 0; i < rewrite->sources->len; i++) {
		if (!drop_segment(rewrite->store, rewrite->sources->pdata[i], error))
			return false;
	}

	return segment_writer_save(rewrite->writer, n_live, error);
}

bool segment_rewrite(HashStore *store, const GPtrArray *segments, const Liveness *liveness,
		     bool is_counted, GError **error)
{
	g_autoptr(GPtrArray) sources = g_ptr_array_new();
	g_autoptr(SegmentWriter) writer = segment_writer_new(store, error);
	uint64_t n_live = is_counted ? segment_count_live(store, segments, liveness) : 0;
	Rewrite rewrite = {
		.store = store, .sources = sources, .writer = writer, .liveness = liveness
	};
	bool done;

	if (!writer)
		return false;
	for (guint i = 0; i < segments->len; i++)
		g_ptr_array_add(sources, segments->pdata[i]);

	done = rewrite_all(&rewrite, n_live, error);
	g_free(rewrite.live);

	return done;
}
