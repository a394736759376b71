/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/page-cache-budget.h"

#include "common/threads/locked.h"

#include <sys/sysinfo.h>

#define WINDOWS_MAX   (1 << 18)
#define FREE_FRACTION 8

/* Windows of up to 16 MiB that are kept between two looks at the free memory. */
#define WINDOWS_PER_LOOK 4

struct PageCacheBudget {
	bool (*is_memory_free)(void);

	/* Guards the rest. */
	pthread_mutex_t mutex;
	GHashTable *windows; /* set of KeptWindow, each as one number */
	unsigned n_since_look;
	bool may_keep;
};

static bool is_an_eighth_free(void)
{
	struct sysinfo memory;

	return sysinfo(&memory) == 0 && memory.freeram > memory.totalram / FREE_FRACTION;
}

/* g_direct_hash() would use only the lower half, which is the window. */
static guint hash_key(gconstpointer key)
{
	uint64_t number = (uintptr_t)key;

	return (guint)(number >> 32) * 2654435761U + (guint)number;
}

PageCacheBudget *page_cache_budget_new(bool (*is_memory_free)(void))
{
	PageCacheBudget *kept = g_new0(PageCacheBudget, 1);

	kept->is_memory_free = is_memory_free ? is_memory_free : is_an_eighth_free;
	pthread_mutex_init(&kept->mutex, NULL);
	kept->windows = g_hash_table_new(hash_key, NULL);
	kept->n_since_look = WINDOWS_PER_LOOK;
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

static bool may_keep(PageCacheBudget *kept)
{
	if (++kept->n_since_look >= WINDOWS_PER_LOOK) {
		kept->n_since_look = 0;
		kept->may_keep = kept->is_memory_free();
	}

	return kept->may_keep;
}

bool page_cache_budget_may_keep(PageCacheBudget *kept)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&kept->mutex);

	return may_keep(kept);
}

bool page_cache_budget_add(PageCacheBudget *kept, uint32_t object, uint32_t window)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&kept->mutex);

	if (!may_keep(kept) || g_hash_table_size(kept->windows) >= WINDOWS_MAX)
		return false;

	g_hash_table_add(kept->windows, key_of(object, window));
	return true;
}

bool page_cache_budget_take(PageCacheBudget *kept, uint32_t object, uint32_t window)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&kept->mutex);

	return g_hash_table_remove(kept->windows, key_of(object, window));
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
	g_array_sort(all, compare_windows);
	return all;
}
