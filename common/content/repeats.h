/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Repeats - finds ranges of blocks that occurred before, by the sums of their blocks.
 *
 * Memory: about 40 bytes for each block that was added.  Time: @least_blocks steps for each block.
 * Pure.  Thread: any.
 */
typedef struct Repeats Repeats;

/* Ranges of fewer than @least_blocks blocks, at least 1, are not found. */
Repeats *repeats_new(size_t least_blocks);
void repeats_free(Repeats *repeats);

/* Add a block after those before. */
void repeats_add(Repeats *repeats, uint64_t sum);

/*
 * Count the blocks from sums[0] on, at most @n, that occurred one after another; 0 if they are too
 * few.  *ret_at is the number of the first of them, in the order of addition.
 */
size_t repeats_find(const Repeats *repeats, const uint64_t *sums, size_t n, size_t *ret_at);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Repeats, repeats_free)
