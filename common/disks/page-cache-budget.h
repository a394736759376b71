/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * PageCacheBudget - the windows that a pass itself read into the page cache and left there, for comparing
 * later.
 *
 * It keeps windows only while memory is spare (SpareMemory): so it never displaces data that others used lately.  It
 * records at most 256 Ki windows (12 MiB), by object and window.
 *
 * Thread: any, except page_cache_budget_take_all(): the filesystem's worker.
 */
typedef struct PageCacheBudget PageCacheBudget;

/* @is_memory_spare tells whether more than @kept_bytes may be kept; NULL: spare_memory_is_there(). */
PageCacheBudget *page_cache_budget_new(bool (*is_memory_spare)(uint64_t kept_bytes));
void page_cache_budget_free(PageCacheBudget *kept);

/* True if one more window may stay in the cache. */
bool page_cache_budget_may_keep(PageCacheBudget *kept);

/* Record that @bytes of the window stay in the cache.  False: they must be dropped. */
bool page_cache_budget_add(PageCacheBudget *kept, uint32_t object, uint32_t window, uint64_t bytes);

/* Remove the record of the window.  False: there was none. */
bool page_cache_budget_take(PageCacheBudget *kept, uint32_t object, uint32_t window);

typedef struct {
	uint32_t object;
	uint32_t window;
} KeptWindow;

/* Remove and return all records, in order of object and window. */
GArray *page_cache_budget_take_all(PageCacheBudget *kept);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PageCacheBudget, page_cache_budget_free)
