/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/kept-groups.h"

#include "hashstore/objects/digested.h"
#include "hashstore/objects/equal-groups.h"
#include "hashstore/objects/equals.h"

struct KeptGroups {
	/* Set at creation, never changed. */
	HashStore *store; /* not owned */
	bool are_files;
	uint64_t min_bytes;
	uint64_t bound_bytes; /* groups with less may be missing */
	Equals *equals;
	GArray *loose; /* Digested, sorted: objects that no anchor leads to, or may lead to */

	GSequence *waiting; /* EqualRow, in order */
	bool has_last;
	EqualRow last; /* the group returned last */
};

static int compare_waiting(const void *a, const void *b, void *data)
{
	(void)data;
	return equal_row_compare(a, b);
}

static void add_waiting(KeptGroups *kept, const EqualRow *row)
{
	g_sequence_insert_sorted(kept->waiting, g_memdup2(row, sizeof(*row)), compare_waiting,
				 NULL);
}

/* Whether the object is there and one that is asked for. */
static bool take_object(KeptGroups *kept, uint32_t id, Digested *ret, bool *ret_taken,
			GError **error)
{
	Object object;

	*ret_taken = false;
	if (!hash_store_peek(kept->store, id, &object, ret_taken, error))
		return false;

	*ret_taken = *ret_taken &&
		     digested_take(&object, hash_store_has_extents(kept->store), ret) &&
		     ret->is_file == kept->are_files && ret->size_bytes >= kept->min_bytes;
	return true;
}

static bool read_loose(KeptGroups *kept, const GArray *ids, GError **error)
{
	for (guint i = 0; i < ids->len; i++) {
		Digested one;
		bool taken;

		if (!take_object(kept, g_array_index(ids, uint32_t, i), &one, &taken, error))
			return false;
		if (taken)
			g_array_append_val(kept->loose, one);
	}
	g_array_sort(kept->loose, digested_compare);

	return true;
}

/* The first loose object of the digest, or of a larger one. */
static guint first_loose(const KeptGroups *kept, uint64_t digest)
{
	guint low = 0, high = kept->loose->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(kept->loose, Digested, middle).digest < digest)
			low = middle + 1;
		else
			high = middle;
	}

	return low;
}

/* All objects that may have the digest: those that anchors lead to, and loose ones. */
static bool list_candidates(KeptGroups *kept, uint64_t digest, GArray *ids, GError **error)
{
	g_array_set_size(ids, 0);
	for (guint i = first_loose(kept, digest); i < kept->loose->len; i++) {
		const Digested *loose = &g_array_index(kept->loose, Digested, i);

		if (loose->digest != digest)
			break;
		g_array_append_val(ids, loose->id);
	}

	return equals_list_anchored(kept->equals, digest, ids, error);
}

/* Let the groups of loose objects wait, too. */
static bool add_loose(KeptGroups *kept, GError **error)
{
	g_autoptr(GArray) ids = g_array_new(false, false, sizeof(uint32_t));
	const Digested *last = NULL;

	for (guint i = 0; i < kept->loose->len; i++) {
		const Digested *one = &g_array_index(kept->loose, Digested, i);
		EqualRow row = { .digest = one->digest, .size_bytes = one->size_bytes };

		if (last && digested_are_equal(last, one))
			continue;
		last = one;
		if (!list_candidates(kept, one->digest, ids, error))
			return false;
		row.n_objects = ids->len;
		if (ids->len > 1)
			add_waiting(kept, &row);
	}

	return true;
}

static void add_rows(KeptGroups *kept, const EqualTop *top)
{
	for (guint i = 0; i < top->rows->len; i++) {
		const EqualRow *row = &g_array_index(top->rows, EqualRow, i);

		if (row->size_bytes >= kept->min_bytes)
			add_waiting(kept, row);
	}
}

/* Beside extents there are few files, so all of these can be read. */
static bool has_no_extent(HashStore *store, bool *ret, GError **error)
{
	const Object *last = NULL;

	if (hash_store_has_extents(store) &&
	    !hash_store_find_before(store, OBJECT_EXTENTS, INT64_MAX, &last, error))
		return false;

	*ret = !last;
	return true;
}

bool kept_groups_open(HashStore *store, bool are_files, uint64_t min_bytes, KeptGroups **ret,
		      GError **error)
{
	g_autoptr(KeptGroups) kept = g_new0(KeptGroups, 1);
	g_auto(EqualList) list = { 0 };
	bool usable = true;

	*ret = NULL;
	if (are_files && !has_no_extent(store, &usable, error))
		return false;
	if (usable && !equal_list_read(store, &list, &usable, error))
		return false;
	if (!usable)
		return true;

	kept->store = store;
	kept->are_files = are_files;
	kept->min_bytes = min_bytes;
	kept->bound_bytes = list.top->bound_bytes;
	kept->waiting = g_sequence_new(g_free);
	kept->loose = g_array_new(false, false, sizeof(Digested));
	kept->equals = equals_open(store, error);
	if (!kept->equals || !read_loose(kept, list.loose, error) || !add_loose(kept, error))
		return false;
	add_rows(kept, list.top);

	*ret = g_steal_pointer(&kept);
	return true;
}

void kept_groups_close(KeptGroups *kept)
{
	if (!kept)
		return;

	equals_close(kept->equals);
	if (kept->loose)
		g_array_unref(kept->loose);
	if (kept->waiting)
		g_sequence_free(kept->waiting);
	g_free(kept);
}

static int compare_ids(const void *a, const void *b)
{
	const uint32_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* Keep those of @ids, once each, that belong to the group as of now. */
static bool keep_members(KeptGroups *kept, const EqualRow *row, GArray *ids, GError **error)
{
	uint32_t *all = (uint32_t *)ids->data;
	guint n = 0;

	g_array_sort(ids, compare_ids);
	for (guint i = 0; i < ids->len; i++) {
		Digested one;
		bool taken;

		if (n > 0 && all[n - 1] == all[i])
			continue;
		if (!take_object(kept, all[i], &one, &taken, error))
			return false;
		if (taken && one.digest == row->digest && one.size_bytes == row->size_bytes)
			all[n++] = all[i];
	}
	g_array_set_size(ids, n);

	return true;
}

/* Take the first waiting group.  False at the end. */
static bool take_first(KeptGroups *kept, EqualRow *ret)
{
	GSequenceIter *first = g_sequence_get_begin_iter(kept->waiting);

	if (g_sequence_iter_is_end(first))
		return false;

	*ret = *(const EqualRow *)g_sequence_get(first);
	g_sequence_remove(first);
	return equal_row_spare_bytes(ret) >= kept->bound_bytes;
}

bool kept_groups_next(KeptGroups *kept, EqualRow *ret, GArray *ids, bool *ret_found, GError **error)
{
	EqualRow row;

	*ret_found = false;
	while (take_first(kept, &row)) {
		/* It was in the list and a group of loose objects, too. */
		if (kept->has_last && equal_row_compare(&row, &kept->last) <= 0)
			continue;
		if (!list_candidates(kept, row.digest, ids, error))
			return false;
		if (ids->len > EQUAL_GROUP_MEMBERS_MAX)
			return true;
		if (!keep_members(kept, &row, ids, error))
			return false;
		/* With an object that is not covered by the list, it was returned before. */
		if (ids->len < 2 || ids->len > row.n_objects)
			continue;
		if (ids->len < row.n_objects) {
			row.n_objects = ids->len;
			add_waiting(kept, &row);
			continue;
		}
		kept->last = row;
		kept->has_last = true;
		*ret = row;
		*ret_found = true;
		return true;
	}

	return true;
}

bool kept_groups_are_all(const KeptGroups *kept)
{
	return kept->are_files && kept->bound_bytes <= MAX(kept->min_bytes, 1);
}
