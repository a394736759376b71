/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * SumCache - block sums of shared blocks by physical address, so that a pass reads each of them only once.
 *
 * It also remembers of which object the store has anchors of a block: see StandIns.
 *
 * It is a sparse temporary file with 12 bytes per block, made on first use.  Its size is limited: addresses that
 * differ by a multiple of the cache's size have one place, which the last 256 blocks put there have.  Evicted
 * blocks are read once more.
 *
 * Memory: 1/256 of the bound.
 * Thread: the filesystem's worker.
 */
typedef struct SumCache SumCache;

/* The size on the disk, as a multiple of the memory for sorting. */
#define SUM_CACHE_MEMORIES 4

/* The file has at most @max_bytes: about a 340th of the data that it covers, in blocks of 4 KiB. */
SumCache *sum_cache_new(const char *directory, uint32_t block_bytes, uint64_t max_bytes);
void sum_cache_free(SumCache *cache);

/*
 * Returns how many of the @n_blocks blocks at byte @physical, from the first on, are all known or all unknown
 * (*ret_is_known).  The sums of known ones are in @ret.
 */
size_t sum_cache_get(SumCache *cache, uint64_t physical, uint64_t *ret, size_t n_blocks,
		     bool *ret_is_known);

/* Store sums, none of which is 0.  A failure only means that the blocks are read again. */
void sum_cache_put(SumCache *cache, uint64_t physical, const uint64_t *sums, size_t n_blocks);

/* The objects whose anchors stand for the @n_blocks blocks at byte @physical; 0: not known. */
void sum_cache_get_objects(SumCache *cache, uint64_t physical, uint32_t *ret, size_t n_blocks);

/* Set @object for all these blocks. */
void sum_cache_put_object(SumCache *cache, uint64_t physical, uint32_t object, size_t n_blocks);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SumCache, sum_cache_free)
