/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * SumCache - block sums of shared blocks by physical address, so that a pass reads what several
 * files share once only.
 *
 * It also remembers of which object the store has anchors of a block: see StandIns.
 *
 * A temporary file with 12 bytes per block, made when first needed and sparse.  It is bounded:
 * blocks whose addresses are the size of the cache, or a multiple of it, apart have one place, and
 * the 256 blocks that were put last have it.  What was pushed out is read once more.
 *
 * Memory: 1/256 of the bound.
 * Thread: the filesystem's worker.
 */
typedef struct SumCache SumCache;

/* Of a pass it takes so many times the memory, on the disk. */
#define SUM_CACHE_MEMORIES 4

/* At most @max_bytes in the file: about a 340th of the data that it can stand for, in blocks of 4 KiB. */
SumCache *sum_cache_new(const char *directory, uint32_t block_bytes, uint64_t max_bytes);
void sum_cache_free(SumCache *cache);

/*
 * How many of the @n_blocks blocks at byte @physical, from the first on, are alike: known
 * (*ret_is_known, their sums are in @ret), or not known.
 */
size_t sum_cache_get(SumCache *cache, uint64_t physical, uint64_t *ret, size_t n_blocks,
		     bool *ret_is_known);

/* Remember sums, none of which is 0.  What cannot be remembered will be read again. */
void sum_cache_put(SumCache *cache, uint64_t physical, const uint64_t *sums, size_t n_blocks);

/* The objects whose anchors stand for the @n_blocks blocks at byte @physical; 0 where none is known. */
void sum_cache_get_objects(SumCache *cache, uint64_t physical, uint32_t *ret, size_t n_blocks);

/* From here on it is @object for all of them. */
void sum_cache_put_object(SumCache *cache, uint64_t physical, uint32_t object, size_t n_blocks);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SumCache, sum_cache_free)
