/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/snapshots/deferred-sums.h"

#include "cli/arguments/store-list.h"
#include "hashstore/objects/holders.h"

struct DeferredSums {
	GHashTable *bytes; /* uint64_t by the subvolume's id */
};

void deferred_sums_free(DeferredSums *sums)
{
	if (!sums)
		return;

	g_hash_table_unref(sums->bytes);
	g_free(sums);
}

static void add(DeferredSums *sums, uint64_t subvolume, uint64_t bytes)
{
	uint64_t *sum = g_hash_table_lookup(sums->bytes, &subvolume);

	if (!sum) {
		sum = g_new0(uint64_t, 1);
		g_hash_table_insert(sums->bytes, g_memdup2(&subvolume, sizeof(subvolume)), sum);
	}
	*sum += bytes;
}

/* Add what each set of snapshots holds. */
static bool add_all(DeferredSums *sums, HashStore *store)
{
	HeldExtents held = { 0 };
	bool found = true;

	while (found) {
		g_autofree char *text = NULL;
		g_autoptr(GArray) set = NULL;

		if (!hash_store_next_held(store, held.holders, &held, &found, NULL) ||
		    (found && !hash_store_get_holders(store, held.holders, &text, NULL)))
			return false;
		set = text ? holders_parse(text) : NULL;
		for (guint i = 0; set && i < set->len; i++)
			add(sums, g_array_index(set, uint64_t, i), held.bytes);
	}

	return true;
}

DeferredSums *deferred_sums_read(const char *directory, const char *uuid)
{
	g_autoptr(DeferredSums) sums = g_new0(DeferredSums, 1);
	StoreEntry entry = { 0 };
	bool done;

	sums->bytes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	done = store_entry_open(&entry, directory, uuid, NULL) && add_all(sums, entry.store);
	store_entry_clear(&entry);
	return done ? g_steal_pointer(&sums) : NULL;
}

uint64_t deferred_sums_of(const DeferredSums *sums, uint64_t subvolume)
{
	const uint64_t *sum = g_hash_table_lookup(sums->bytes, &subvolume);

	return sum ? *sum : 0;
}
