/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/kept-pages.h"

#include <sys/sysinfo.h>

#define WINDOWS_MAX   (1 << 18)
#define FREE_FRACTION 8

/* So many windows are kept between two looks at the memory: of 16 MiB at most each. */
#define WINDOWS_PER_LOOK 4

struct KeptPages {
	bool (*is_memory_free)(void);
	GHashTable *windows; /* set of KeptWindow, each as one number */
	unsigned n_since_look;
	bool may_keep;
};

static bool is_an_eighth_free(void)
{
	struct sysinfo memory;

	return sysinfo(&memory) == 0 && memory.freeram > memory.totalram / FREE_FRACTION;
}

/* g_direct_hash() would take the lower half alone, which is the window. */
static guint hash_key(gconstpointer key)
{
	uint64_t number = (uintptr_t)key;

	return (guint)(number >> 32) * 2654435761U + (guint)number;
}

KeptPages *kept_pages_new(bool (*is_memory_free)(void))
{
	KeptPages *kept = g_new0(KeptPages, 1);

	kept->is_memory_free = is_memory_free ? is_memory_free : is_an_eighth_free;
	kept->windows = g_hash_table_new(hash_key, NULL);
	kept->n_since_look = WINDOWS_PER_LOOK;
	return kept;
}

void kept_pages_free(KeptPages *kept)
{
	if (!kept)
		return;

	g_hash_table_unref(kept->windows);
	g_free(kept);
}

static void *key_of(uint32_t object, uint32_t window)
{
	G_STATIC_ASSERT(sizeof(void *) == sizeof(uint64_t));

	return (void *)(uintptr_t)((uint64_t)object << 32 | window);
}

bool kept_pages_may_keep(KeptPages *kept)
{
	if (++kept->n_since_look >= WINDOWS_PER_LOOK) {
		kept->n_since_look = 0;
		kept->may_keep = kept->is_memory_free();
	}

	return kept->may_keep;
}

bool kept_pages_add(KeptPages *kept, uint32_t object, uint32_t window)
{
	if (!kept_pages_may_keep(kept) || g_hash_table_size(kept->windows) >= WINDOWS_MAX)
		return false;

	g_hash_table_add(kept->windows, key_of(object, window));
	return true;
}

bool kept_pages_take(KeptPages *kept, uint32_t object, uint32_t window)
{
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

GArray *kept_pages_take_all(KeptPages *kept)
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
