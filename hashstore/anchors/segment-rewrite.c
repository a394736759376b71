/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/segment-rewrite.h"

#include "hashstore/anchors/segment-merge.h"
#include "hashstore/database/store-transaction.h"

/* Objects counted between two looks at the stop flag. */
#define COUNT_STEP 65536

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

static bool drop_segment_row(HashStore *store, const Segment *segment, GError **error)
{
	const uint64_t first = (uint64_t)segment->first_fence;
	const uint64_t fences[] = { first, first + segment->fences->len / FENCE_BYTES };
	const uint64_t id = (uint64_t)segment->id;

	return hash_store_change_rows(store, STATEMENT_DROP_FENCES, fences, error) &&
	       hash_store_change_rows(store, STATEMENT_DROP_SEGMENT, &id, error);
}

/* Copy all of @merge to @writer, or less after a request to stop; @liveness may be NULL. */
static bool copy_all(const HashStore *store, SegmentMerge *merge, SegmentWriter *writer,
		     const Liveness *liveness, GError **error)
{
	g_autofree Anchor *kept = NULL;
	size_t kept_size = 0;

	while (hash_store_may_continue(store)) {
		const Anchor *anchors;
		size_t n;

		if (!segment_merge_next(merge, &anchors, &n, error))
			return false;
		if (n == 0)
			break;
		if (liveness) {
			if (n > kept_size) {
				g_free(kept);
				kept = g_new(Anchor, n);
				kept_size = n;
			}
			n = keep_live(kept, anchors, n, liveness);
			anchors = kept;
		}
		if (!segment_writer_add(writer, anchors, n, error))
			return false;
	}

	return true;
}

bool segment_rewrite(HashStore *store, const GPtrArray *segments, const Liveness *liveness,
		     bool is_counted, GError **error)
{
	g_autoptr(SegmentReader) reader = NULL;
	g_autoptr(SegmentMerge) merge = NULL;
	g_autoptr(SegmentWriter) writer = segment_writer_new(store, error);
	uint64_t n_live = is_counted ? segment_count_live(store, segments, liveness) : 0;

	if (!writer)
		return false;
	reader = segment_reader_new(store->database, true, error);
	if (!reader)
		return false;
	merge = segment_merge_new(reader, segments, store->memory_bytes);

	for (guint i = 0; i < segments->len; i++) {
		if (!drop_segment_row(store, segments->pdata[i], error))
			return false;
	}

	return copy_all(store, merge, writer, liveness, error) &&
	       segment_writer_finish(writer, n_live, error);
}
