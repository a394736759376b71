/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * PageCacheBudget - what a pass itself brought into the page cache and left there, to be compared from
 * there.
 *
 * Only while memory is free, not merely reclaimable: what others have cached is never displaced by
 * it.  By window of an object's file; at most 256 Ki of them (8 MiB).
 *
 * Thread: the filesystem's worker.
 */
typedef struct PageCacheBudget PageCacheBudget;

/* @is_memory_free says whether more may be kept; NULL: while an eighth of the memory is free. */
PageCacheBudget *page_cache_budget_new(bool (*is_memory_free)(void));
void page_cache_budget_free(PageCacheBudget *kept);

/* Whether one more window may stay in the cache, noted or not. */
bool page_cache_budget_may_keep(PageCacheBudget *kept);

/* Note that the window stays in the cache.  False: it may not, and is to be dropped. */
bool page_cache_budget_add(PageCacheBudget *kept, uint32_t object, uint32_t window);

/* Whether the window was noted; it is not any more. */
bool page_cache_budget_take(PageCacheBudget *kept, uint32_t object, uint32_t window);

typedef struct {
	uint32_t object;
	uint32_t window;
} KeptWindow;

/* All that is noted, in order of object and window; nothing is noted any more. */
GArray *page_cache_budget_take_all(PageCacheBudget *kept);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PageCacheBudget, page_cache_budget_free)
