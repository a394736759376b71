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
 * A sparse temporary file with 8 bytes per block at the block's own place; made when first needed.
 *
 * Thread: the filesystem's worker.
 */
typedef struct SumCache SumCache;

SumCache *sum_cache_new(const char *directory, uint32_t block_bytes);
void sum_cache_free(SumCache *cache);

/* Whether the sums of all @n_blocks blocks at byte @physical are known; then they are in @ret. */
bool sum_cache_get(SumCache *cache, uint64_t physical, uint64_t *ret, size_t n_blocks);

/* Remember sums, none of which is 0.  What cannot be remembered will be read again. */
void sum_cache_put(SumCache *cache, uint64_t physical, const uint64_t *sums, size_t n_blocks);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SumCache, sum_cache_free)
