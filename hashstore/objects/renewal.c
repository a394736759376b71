/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchor-sort.h"
#include "hashstore/anchors/merged-cursor.h"
#include "hashstore/anchors/segments.h"
#include "hashstore/anchors/sorter.h"
#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"
#include "hashstore/objects/equal-list.h"
#include "hashstore/objects/objects.h"

#include <stdlib.h>

typedef struct {
	uint32_t old;
	uint32_t new;
} Renewal;

static int compare_renewals(const void *a, const void *b)
{
	const Renewal *one = a, *other = b;

	return (one->old > other->old) - (one->old < other->old);
}

static int compare_anchors(const void *a, const void *b)
{
	return anchor_compare(a, b);
}

/* An object without anchors stays one. */
static bool renew_loose(HashStore *store, const Renewal *renewal, GError **error)
{
	const uint64_t values[] = { renewal->old };
	uint64_t found = 0;

	return hash_store_query_number(store, STATEMENT_FIND_LOOSE_OBJECT, values, &found, error) &&
	       (found == 0 || hash_store_put_loose_object(store, renewal->new, error));
}

/* Give the object's row a new id; *ret->new is 0 if it has no fingerprint. */
static bool renew_row(HashStore *store, uint32_t object, Renewal *ret, GError **error)
{
	const Object *found;
	Object row;

	*ret = (Renewal){ .old = object };
	if (!hash_store_find(store, object, &found, error))
		return false;
	if (!found || found->state != OBJECT_DONE)
		return true;

	row = *found;
	if (!hash_store_new_object(store, &row.id, error) || !hash_store_put(store, &row, error))
		return false;
	ret->new = row.id;
	store->n_renewed++;

	return renew_loose(store, ret, error);
}

/* A Renewal for each fingerprinted object, in the order of the old ids. */
static GArray *renew_rows(HashStore *store, const uint32_t *objects, size_t n_objects,
			  GError **error)
{
	g_autoptr(GArray) renewals = g_array_new(false, false, sizeof(Renewal));

	for (size_t i = 0; i < n_objects; i++) {
		Renewal renewal;

		if (!renew_row(store, objects[i], &renewal, error))
			return NULL;
		if (renewal.new)
			g_array_append_val(renewals, renewal);
	}
	g_array_sort(renewals, compare_renewals);

	return g_steal_pointer(&renewals);
}

/* The segments whose range of ids contains one of @renewals. */
static GPtrArray *segments_with(HashStore *store, const GArray *renewals, GError **error)
{
	g_autoptr(GPtrArray) segments = segment_list(store->database, error);

	for (guint i = segments ? segments->len : 0; i > 0; i--) {
		const Segment *segment = segments->pdata[i - 1];
		guint at = 0;

		while (at < renewals->len &&
		       g_array_index(renewals, Renewal, at).old < segment->min_object)
			at++;
		if (at == renewals->len ||
		    g_array_index(renewals, Renewal, at).old > segment->max_object)
			g_ptr_array_remove_index(segments, i - 1);
	}

	return g_steal_pointer(&segments);
}

/* Add the anchors of all @renewals to @copies, under their new ids. */
static bool copy_anchors(HashStore *store, const GArray *renewals, Sorter *copies, GError **error)
{
	g_autoptr(GPtrArray) segments = segments_with(store, renewals, error);
	g_autoptr(SegmentReader) reader = NULL;
	g_autoptr(MergedCursor) merge = NULL;

	if (!segments)
		return false;
	reader = segment_reader_new(store->database, false, error);
	if (!reader)
		return false;
	merge = merged_cursor_new(reader, segments, store->memory_bytes / 2);

	while (hash_store_may_continue(store)) {
		const Anchor *anchors;
		size_t n;

		if (!merged_cursor_next(merge, &anchors, &n, error))
			return false;
		if (n == 0)
			return sorter_sort(copies, error);

		for (size_t i = 0; i < n; i++) {
			const Renewal wanted = { .old = anchors[i].object };
			const Renewal *found = bsearch(&wanted, renewals->data, renewals->len,
						       sizeof(Renewal), compare_renewals);
			Anchor copy = anchors[i];

			if (!found)
				continue;
			copy.object = found->new;
			if (!sorter_add(copies, &copy, error))
				return false;
		}
	}

	return true;
}

static bool put_copies(HashStore *store, Sorter *copies, GError **error)
{
	while (hash_store_may_continue(store)) {
		const Anchor *anchor;

		if (!sorter_next(copies, (const void **)&anchor, error))
			return false;
		if (!anchor)
			return true;
		if (!hash_store_put_anchor(store, anchor, error))
			return false;
		store->renewed_anchors++;
	}

	return true;
}

bool hash_store_renew(HashStore *store, const uint32_t *objects, size_t n_objects, GError **error)
{
	g_autofree char *directory = g_path_get_dirname(store->path);
	g_autoptr(Sorter) copies = sorter_new(sizeof(Anchor), compare_anchors,
					      store->memory_bytes / 2, directory, store->stop);
	g_autoptr(GArray) renewals = NULL;

	if (n_objects == 0)
		return true;
	if (!hash_store_begin(store, error) || !hash_store_flush_anchors(store, error))
		return false;

	renewals = renew_rows(store, objects, n_objects, error);
	if (!renewals || !copy_anchors(store, renewals, copies, error) ||
	    !put_copies(store, copies, error)) {
		store->failed = true;
		return false;
	}

	return hash_store_may_continue(store) || hash_store_undo_all(store, error);
}
