/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/segments.h"

#include "hashstore/anchors/anchor-sort.h"
#include "hashstore/anchors/segment-merge.h"
#include "hashstore/database/object-places.h"
#include "hashstore/database/store-connection.h"
#include "hashstore/database/store-transaction.h"

#define UNSETTLED_MAX 64
#define UNSETTLED_MIN 8
#define SETTLED_MAX   16

/*
 * A merge leaves out a segment that has this many times the anchors of all smaller ones together.
 * The first ratio is for segments that one pass made; the second is for the many more of several
 * passes.
 */
#define OWN_RATIO  4
#define SIZE_RATIO 1

/* Memory per segment in a merge, so that it reads several pages at a time. */
#define MERGE_BYTES_EACH ((size_t)128 << 10)

/* Dead anchors, of objects that are gone, are many if more than one in so many anchors is dead. */
#define DEAD_SHARE 8

/* Free pages below both limits, 1/32 of the file being one, are left to later passes. */
#define FREE_PAGES_KEPT  256
#define FREE_PAGES_SHARE 32

/* Pages freed between two looks at the stop flag: each may cost a seek or two. */
#define FREE_PAGES_STEP 64

/*
 * Dead entries are searched for if at least one in this many objects is new or dropped: the search looks at
 * every object.
 */
#define CHANGED_SHARE 8

/* Write the anchors in memory as a segment. */
static bool write_segment(HashStore *store, GError **error)
{
	g_autoptr(SegmentWriter) writer = segment_writer_new(store, error);
	size_t n;

	if (!writer)
		return false;

	anchor_sort(store->anchors, store->n_anchors);
	n = anchor_unique(store->anchors, store->n_anchors);
	store->n_anchors = 0;
	if (!segment_writer_add(writer, store->anchors, n, error) ||
	    !segment_writer_save(writer, 0, error)) {
		store->failed = true;
		return false;
	}

	return true;
}

bool hash_store_put_anchor(HashStore *store, const Anchor *anchor, GError **error)
{
	if (G_UNLIKELY(!store->anchors)) {
		if (!hash_store_begin(store, error))
			return false;
		store->anchors = g_malloc(store->memory_bytes);
		store->n_anchors = 0;
	}
	store->anchors[store->n_anchors] = *anchor;
	store->anchors[store->n_anchors++].digest = anchor_digest(anchor->digest);
	if (G_LIKELY(store->n_anchors < store->memory_bytes / sizeof(Anchor)))
		return true;

	return write_segment(store, error);
}

bool hash_store_flush_anchors(HashStore *store, GError **error)
{
	if (!store->anchors)
		return true;
	if (store->n_anchors > 0 && !write_segment(store, error))
		return false;

	/* Free the memory for its next user. */
	g_clear_pointer(&store->anchors, g_free);

	return true;
}

/* The most segments of unsettled anchors, given the memory for a merge of all. */
static unsigned unsettled_max(size_t memory_bytes)
{
	return (unsigned)CLAMP(memory_bytes / MERGE_BYTES_EACH, UNSETTLED_MIN, UNSETTLED_MAX);
}

static int compare_sizes(const void *a, const void *b)
{
	const Segment *const *one = a, *const *other = b;

	return ((*one)->anchors > (*other)->anchors) - ((*one)->anchors < (*other)->anchors);
}

static bool is_unsettled(const HashStore *store, const Segment *segment)
{
	return segment->max_object >= store->counts.settled_below;
}

/*
 * If too many segments are unsettled, choose some to merge: the smaller half, and those beyond the
 * limit.
 */
static GPtrArray *choose_unsettled(const HashStore *store, const GPtrArray *segments)
{
	guint limit = unsettled_max(store->memory_bytes);
	GPtrArray *chosen = g_ptr_array_new();

	for (guint i = 0; i < segments->len; i++) {
		if (is_unsettled(store, segments->pdata[i]))
			g_ptr_array_add(chosen, segments->pdata[i]);
	}
	g_ptr_array_sort(chosen, compare_sizes);
	/* As many commits follow until the next merge.  Memory limits the segments of one merge. */
	g_ptr_array_set_size(chosen,
			     chosen->len <= limit ? 0 : (int)MIN(chosen->len - limit / 2, limit));

	return chosen;
}

/* Merge unsettled segments while there are too many.  Everything is committed before and after. */
static bool limit_unsettled(HashStore *store, GError **error)
{
	while (hash_store_may_continue(store)) {
		g_autoptr(GPtrArray) segments = segment_list(store->database, error);
		g_autoptr(GPtrArray) chosen = NULL;

		if (!segments)
			return false;
		chosen = choose_unsettled(store, segments);
		if (chosen->len == 0)
			return true;

		if (!hash_store_begin(store, error))
			return false;
		if (!segment_merge(store, chosen, NULL, false, error)) {
			store->failed = true;
			return false;
		}
		if (!hash_store_may_continue(store))
			return hash_store_undo(store, error);
		if (!hash_store_keep(store, error))
			return false;
	}

	return true;
}

/* The number of the smallest of @segments that this pass made, and that the size rule wants merged. */
static guint n_own_small(const HashStore *store, const GPtrArray *segments)
{
	uint64_t smaller = 0;
	guint n = 0;

	for (guint i = 0; i < segments->len; i++) {
		const Segment *segment = segments->pdata[i];

		if (!is_unsettled(store, segment))
			continue;
		if (smaller > 0 && segment->anchors < OWN_RATIO * smaller)
			n = i + 1;
		smaller += segment->anchors;
	}

	return n;
}

/*
 * Choose the smallest of @segments to merge into one; none, or at least two.  Segments of earlier passes wait until
 * there are too many: with a merge at each pass, an anchor would be rewritten more than twice as often.
 */
static GPtrArray *choose_small(const HashStore *store, GPtrArray *segments)
{
	GPtrArray *chosen = g_ptr_array_new();
	uint64_t n_anchors = 0;
	guint n;

	g_ptr_array_sort(segments, compare_sizes);
	n = n_own_small(store, segments);
	if (segments->len > SETTLED_MAX)
		n = MAX(n, segments->len - SETTLED_MAX + 1);
	for (guint i = 0; n > 0 && i < segments->len; i++) {
		Segment *segment = segments->pdata[i];

		if (i >= n && segment->anchors >= SIZE_RATIO * n_anchors)
			break;
		n_anchors += segment->anchors;
		g_ptr_array_add(chosen, segment);
	}

	return chosen;
}

/* Rewrite the segments more than half of whose objects died since they were written. */
static bool drop_dead(HashStore *store, GPtrArray *segments, const Liveness *liveness,
		      GError **error)
{
	for (guint i = 0; i < segments->len && hash_store_may_continue(store); i++) {
		g_autoptr(GPtrArray) one = g_ptr_array_new();
		Segment *segment = segments->pdata[i];
		uint64_t n_live;

		g_ptr_array_add(one, segment);
		n_live = segment_count_live(store, one, liveness);
		if (segment->live_objects > 0) {
			if (n_live < segment->live_objects / 2 &&
			    !segment_merge(store, one, liveness, true, error))
				return false;
			continue;
		}

		const uint64_t values[] = { MAX(n_live, 1), (uint64_t)segment->id };
		if (!hash_store_change_rows(store, STATEMENT_SET_LIVE_OBJECTS, values, error))
			return false;
	}

	return true;
}

/* Rewrite a segment of an older store, which then is smaller; one in a pass, as each may be most of the store. */
static bool pack_plain(HashStore *store, GPtrArray *segments, const Liveness *liveness,
		       GError **error)
{
	for (guint i = 0; i < segments->len; i++) {
		g_autoptr(GPtrArray) one = g_ptr_array_new();
		bool is_plain;

		if (!segment_is_plain(store->database, segments->pdata[i], &is_plain, error))
			return false;
		if (!is_plain)
			continue;

		g_ptr_array_add(one, segments->pdata[i]);
		if (!segment_merge(store, one, liveness, true, error))
			return false;
		g_ptr_array_remove_index(segments, i);
		return true;
	}

	return true;
}

/* Give back pages that merges left free, unless the next passes will soon need them. */
static bool shrink_file(HashStore *store, GError **error)
{
	int64_t n_free, n_pages, excess;

	if (!database_get_int(store->database, "PRAGMA freelist_count", &n_free, error) ||
	    !database_get_int(store->database, "PRAGMA page_count", &n_pages, error))
		return false;
	excess = n_free - MAX(FREE_PAGES_KEPT, n_pages / FREE_PAGES_SHARE);

	for (; excess > 0 && hash_store_may_continue(store); excess -= FREE_PAGES_STEP) {
		g_autofree char *vacuum =
			g_strdup_printf("PRAGMA incremental_vacuum(%" G_GINT64_FORMAT ")",
					MIN(excess, FREE_PAGES_STEP));

		if (!database_exec(store->database, vacuum, error))
			return false;
	}

	return true;
}

/* True if enough changed to look at every object. */
static bool is_much_changed(const HashStore *store)
{
	const HashStoreCounts *counts = &store->counts;
	uint64_t n_new = counts->next_object - counts->settled_below;

	return (n_new + counts->dead) * CHANGED_SHARE >= counts->objects;
}

static bool settle_segments(HashStore *store, const Liveness *liveness, bool is_thorough,
			    GError **error)
{
	g_autoptr(GPtrArray) segments = segment_list(store->database, error);
	g_autoptr(GPtrArray) small = NULL;

	if (!segments)
		return false;
	small = choose_small(store, segments);
	if (small->len > 0) {
		if (!segment_merge(store, small, liveness, is_thorough, error))
			return false;
		g_ptr_array_remove_range(segments, 0, small->len);
	}

	return pack_plain(store, segments, liveness, error) &&
	       (!is_thorough || drop_dead(store, segments, liveness, error)) &&
	       shrink_file(store, error);
}

bool hash_store_commit(HashStore *store, GError **error)
{
	if (!store->in_transaction && !store->failed)
		return true;

	/* hash_store_begin() begins nothing here, but refuses a store that failed. */
	return hash_store_begin(store, error) && hash_store_flush_anchors(store, error) &&
	       hash_store_keep(store, error) && limit_unsettled(store, error) &&
	       store_connection_checkpoint(store, error);
}

bool hash_store_settle(HashStore *store, bool (*is_live)(uint32_t object, void *data), void *data,
		       GError **error)
{
	const Liveness liveness = { .is_live = is_live, .data = data };
	bool is_thorough = is_much_changed(store);

	/* No object is new or gone. */
	if (!store->in_transaction && store->counts.settled_below == store->counts.next_object)
		return true;
	/* Commit the results of the pass, even if the merges fail. */
	if (!hash_store_commit(store, error))
		return false;
	if (!hash_store_may_continue(store))
		return true;
	if (!hash_store_begin(store, error))
		return false;

	if (!settle_segments(store, &liveness, is_thorough, error) ||
	    !object_places_settle(store, is_thorough, error)) {
		store->failed = true;
		return false;
	}
	if (!hash_store_may_continue(store))
		return hash_store_undo(store, error) && object_places_load(store, error);
	store->counts.settled_below = store->counts.next_object;
	store->n_renewed = 0;
	if (is_thorough)
		store->counts.dead = 0;

	return true;
}

bool hash_store_has_many_dead(HashStore *store, uint64_t dropped_blocks, bool *ret, GError **error)
{
	uint64_t n_dead =
		store->renewed_anchors + hash_store_expected_anchors(store, dropped_blocks);
	uint64_t n_anchors;
	uint32_t n_segments;

	*ret = false;
	if (n_dead == 0)
		return true;
	if (!hash_store_count_anchors(store, &n_anchors, &n_segments, error))
		return false;

	*ret = n_dead * DEAD_SHARE > n_anchors;
	return true;
}

bool hash_store_drop_dead(HashStore *store, bool (*is_live)(uint32_t object, void *data),
			  void *data, GError **error)
{
	const Liveness liveness = { .is_live = is_live, .data = data };
	g_autoptr(GPtrArray) segments = NULL;

	if (!hash_store_commit(store, error))
		return false;
	if (!hash_store_may_continue(store))
		return true;
	segments = segment_list(store->database, error);
	if (!segments || !hash_store_begin(store, error))
		return false;

	if (!segment_merge(store, segments, &liveness, true, error) || !shrink_file(store, error)) {
		store->failed = true;
		return false;
	}
	if (!hash_store_may_continue(store))
		return hash_store_undo(store, error);
	store->renewed_anchors = 0;

	return true;
}

bool hash_store_count_anchors(HashStore *store, uint64_t *ret_anchors, uint32_t *ret_segments,
			      GError **error)
{
	int64_t anchors, segments;

	if (!database_get_int(store->database, "SELECT " DATABASE_SUM("anchors") " FROM segment",
			      &anchors, error) ||
	    !database_get_int(store->database, "SELECT count(*) FROM segment", &segments, error))
		return false;
	*ret_anchors = (uint64_t)anchors;
	*ret_segments = (uint32_t)segments;

	return true;
}
