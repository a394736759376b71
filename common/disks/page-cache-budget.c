/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/page-cache-budget.h"

#include "common/disks/spare-memory.h"
#include "common/threads/locked.h"

#define WINDOWS_MAX (1 << 18)

/* Bytes that are kept, or may be, between two looks at the memory; those of a question are not known. */
#define BYTES_PER_LOOK     (UINT64_C(64) << 20)
#define BYTES_PER_QUESTION (UINT64_C(16) << 20)

struct PageCacheBudget {
	bool (*is_memory_spare)(uint64_t kept_bytes);

	/* Guards the rest. */
	pthread_mutex_t mutex;
	GHashTable *windows; /* of KeptWindow, as one number: its bytes */
	uint64_t kept_bytes;
	uint64_t since_look_bytes;
	bool may_keep;
};

/* g_direct_hash() would use only the lower half, which is the window. */
static guint hash_key(gconstpointer key)
{
	uint64_t number = (uintptr_t)key;

	return (guint)(number >> 32) * 2654435761U + (guint)number;
}

PageCacheBudget *page_cache_budget_new(bool (*is_memory_spare)(uint64_t kept_bytes))
{
	PageCacheBudget *kept = g_new0(PageCacheBudget, 1);

	kept->is_memory_spare = is_memory_spare ? is_memory_spare : spare_memory_is_there;
	pthread_mutex_init(&kept->mutex, NULL);
	kept->windows = g_hash_table_new(hash_key, NULL);
	kept->since_look_bytes = BYTES_PER_LOOK;
	return kept;
}

void page_cache_budget_free(PageCacheBudget *kept)
{
	if (!kept)
		return;

	g_hash_table_unref(kept->windows);
	pthread_mutex_destroy(&kept->mutex);
	g_free(kept);
}

static void *key_of(uint32_t object, uint32_t window)
{
	G_STATIC_ASSERT(sizeof(void *) == sizeof(uint64_t));

	return (void *)(uintptr_t)((uint64_t)object << 32 | window);
}

static bool may_keep(PageCacheBudget *kept, uint64_t bytes)
{
	if (kept->since_look_bytes >= BYTES_PER_LOOK) {
		kept->since_look_bytes = 0;
		kept->may_keep = kept->is_memory_spare(kept->kept_bytes);
	}

	kept->since_look_bytes += bytes;
	return kept->may_keep;
}

bool page_cache_budget_may_keep(PageCacheBudget *kept)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&kept->mutex);

	return may_keep(kept, BYTES_PER_QUESTION);
}

static bool take(PageCacheBudget *kept, uint32_t object, uint32_t window)
{
	void *key;
	void *bytes;

	if (!g_hash_table_steal_extended(kept->windows, key_of(object, window), &key, &bytes))
		return false;

	kept->kept_bytes -= (uintptr_t)bytes;
	return true;
}

bool page_cache_budget_add(PageCacheBudget *kept, uint32_t object, uint32_t window, uint64_t bytes)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&kept->mutex);

	if (!may_keep(kept, bytes) || g_hash_table_size(kept->windows) >= WINDOWS_MAX)
		return false;

	take(kept, object, window);
	g_hash_table_insert(kept->windows, key_of(object, window), (void *)(uintptr_t)bytes);
	kept->kept_bytes += bytes;
	return true;
}

bool page_cache_budget_take(PageCacheBudget *kept, uint32_t object, uint32_t window)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&kept->mutex);

	return take(kept, object, window);
}

static int compare_windows(const void *a, const void *b)
{
	const KeptWindow *one = a;
	const KeptWindow *other = b;

	if (one->object != other->object)
		return one->object < other->object ? -1 : 1;
	return (one->window > other->window) - (one->window < other->window);
}

GArray *page_cache_budget_take_all(PageCacheBudget *kept)
{
	GArray *all = g_array_sized_new(false, false, sizeof(KeptWindow),
					g_hash_table_size(kept->windows));
	GHashTableIter iter;
	void *key;

	g_hash_table_iter_init(&iter, kept->windows);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		uint64_t number = (uintptr_t)key;
		KeptWindow window = { (uint32_t)(number >> 32), (uint32_t)number };

		g_array_append_val(all, window);
	}

	g_hash_table_remove_all(kept->windows);
	kept->kept_bytes = 0;
	g_array_sort(all, compare_windows);
	return all;
}
