/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * KeptPages - what a pass itself brought into the page cache and left there, to be compared from
 * there.
 *
 * Only while memory is free, not merely reclaimable: what others have cached is never displaced by
 * it.  By window of an object's file; at most 256 Ki of them (8 MiB).
 *
 * Thread: the filesystem's worker.
 */
typedef struct KeptPages KeptPages;

/* @is_memory_free says whether more may be kept; NULL: while an eighth of the memory is free. */
KeptPages *kept_pages_new(bool (*is_memory_free)(void));
void kept_pages_free(KeptPages *kept);

/* Whether one more window may stay in the cache, noted or not. */
bool kept_pages_may_keep(KeptPages *kept);

/* Note that the window stays in the cache.  False: it may not, and is to be dropped. */
bool kept_pages_add(KeptPages *kept, uint32_t object, uint32_t window);

/* Whether the window was noted; it is not any more. */
bool kept_pages_take(KeptPages *kept, uint32_t object, uint32_t window);

typedef struct {
	uint32_t object;
	uint32_t window;
} KeptWindow;

/* All that is noted, in order of object and window; nothing is noted any more. */
GArray *kept_pages_take_all(KeptPages *kept);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(KeptPages, kept_pages_free)
