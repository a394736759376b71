/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/waste-sum.h"

#include <string.h>

struct WasteSum {
	GHashTable *by_key; /* WasteEntry */
	WasteEntry total;
};

static void entry_free(void *data)
{
	WasteEntry *entry = data;

	g_free(entry->key);
	g_free(entry);
}

WasteSum *waste_sum_new(void)
{
	WasteSum *sum = g_new0(WasteSum, 1);

	/* The key is the entry's. */
	sum->by_key = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, entry_free);
	return sum;
}

void waste_sum_free(WasteSum *sum)
{
	if (!sum)
		return;

	g_hash_table_unref(sum->by_key);
	g_free(sum);
}

static WasteEntry *entry_of(WasteSum *sum, const char *key)
{
	WasteEntry *entry = g_hash_table_lookup(sum->by_key, key);

	if (entry)
		return entry;
	if (g_hash_table_size(sum->by_key) >= WASTE_KEYS_MOST - 1 && strcmp(key, WASTE_OTHERS) != 0)
		return entry_of(sum, WASTE_OTHERS);

	entry = g_new0(WasteEntry, 1);
	entry->key = g_strdup(key);
	g_hash_table_insert(sum->by_key, entry->key, entry);
	return entry;
}

static void count(WasteEntry *entry, uint64_t reclaimable_bytes, uint64_t shared_bytes)
{
	entry->reclaimable_bytes += reclaimable_bytes;
	entry->shared_bytes += shared_bytes;
	entry->files += reclaimable_bytes > 0;
}

void waste_sum_add(WasteSum *sum, const char *key, uint64_t reclaimable_bytes,
		   uint64_t shared_bytes)
{
	count(entry_of(sum, key), reclaimable_bytes, shared_bytes);
	count(&sum->total, reclaimable_bytes, shared_bytes);
}

const WasteEntry *waste_sum_total(const WasteSum *sum)
{
	return &sum->total;
}

static int compare_entries(const void *a, const void *b)
{
	const WasteEntry *one = *(WasteEntry *const *)a;
	const WasteEntry *other = *(WasteEntry *const *)b;

	if (one->reclaimable_bytes != other->reclaimable_bytes)
		return one->reclaimable_bytes > other->reclaimable_bytes ? -1 : 1;
	if (one->shared_bytes != other->shared_bytes)
		return one->shared_bytes > other->shared_bytes ? -1 : 1;
	return strcmp(one->key, other->key);
}

GPtrArray *waste_sum_sorted(const WasteSum *sum)
{
	GPtrArray *entries = g_ptr_array_new();
	GHashTableIter iter;
	void *entry;

	g_hash_table_iter_init(&iter, sum->by_key);
	while (g_hash_table_iter_next(&iter, NULL, &entry))
		g_ptr_array_add(entries, entry);
	g_ptr_array_sort(entries, compare_entries);
	return entries;
}
