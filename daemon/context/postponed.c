/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/postponed.h"

#include "hashstore/objects/objects.h"

/* With more than these, nothing is settled. */
#define POSTPONED_MAX (UINT32_C(1) << 17)

struct Postponed {
	GHashTable *objects;    /* ids */
	uint32_t renewed_first; /* of those that were renewed last */
	uint32_t renewed_end;
	bool is_full;
	bool has_rest;
};

Postponed *postponed_new(void)
{
	Postponed *postponed = g_new0(Postponed, 1);

	postponed->objects = g_hash_table_new(NULL, NULL);
	return postponed;
}

void postponed_free(Postponed *postponed)
{
	if (!postponed)
		return;

	g_hash_table_unref(postponed->objects);
	g_free(postponed);
}

void postponed_add(Postponed *postponed, const HashStore *store, uint32_t object)
{
	if (object < hash_store_settled_below(store))
		return;

	if (g_hash_table_size(postponed->objects) < POSTPONED_MAX)
		g_hash_table_add(postponed->objects, GUINT_TO_POINTER(object));
	else
		postponed->is_full = true;
}

bool postponed_has(const Postponed *postponed, uint32_t object)
{
	return (object >= postponed->renewed_first && object < postponed->renewed_end) ||
	       g_hash_table_contains(postponed->objects, GUINT_TO_POINTER(object));
}

void postponed_add_rest(Postponed *postponed)
{
	postponed->has_rest = true;
}

bool postponed_has_rest(const Postponed *postponed)
{
	return postponed->has_rest;
}

bool postponed_is_all(const Postponed *postponed, uint64_t n_unsettled)
{
	guint n = g_hash_table_size(postponed->objects);

	return postponed->has_rest || postponed->is_full || (n > 0 && n == n_unsettled);
}

static GArray *list_objects(const Postponed *postponed)
{
	GArray *objects = g_array_new(false, false, sizeof(uint32_t));
	GHashTableIter iterator;
	gpointer key;

	g_hash_table_iter_init(&iterator, postponed->objects);
	while (g_hash_table_iter_next(&iterator, &key, NULL)) {
		uint32_t object = GPOINTER_TO_UINT(key);

		g_array_append_val(objects, object);
	}

	return objects;
}

bool postponed_add_stretches(Postponed *postponed, HashStore *store, GError **error)
{
	g_autoptr(GArray) objects = list_objects(postponed);

	for (guint i = 0; i < objects->len; i++) {
		const Object *found;

		if (!hash_store_find(store, g_array_index(objects, uint32_t, i), &found, error))
			return false;
		if (!found || found->subvolume != OBJECT_EXTENTS || found->parent == 0)
			continue;
		if (!hash_store_find_at(store, OBJECT_STRETCHES, found->parent, &found, error))
			return false;
		if (found)
			postponed_add(postponed, store, found->id);
	}

	return true;
}

bool postponed_renew(Postponed *postponed, HashStore *store, GError **error)
{
	g_autoptr(GArray) objects = list_objects(postponed);

	postponed->renewed_first = hash_store_next_object(store);
	if (!hash_store_renew(store, (const uint32_t *)(void *)objects->data, objects->len, error))
		return false;

	g_hash_table_remove_all(postponed->objects);
	postponed->renewed_end = hash_store_next_object(store);
	return true;
}
