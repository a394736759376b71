/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BlockSet - blocks of one target that are settled, as ranges; grows mostly at its end.
 *
 * Thread: one at a time.
 */
typedef struct BlockSet BlockSet;

BlockSet *block_set_new(void);
void block_set_free(BlockSet *set);

/* Put [@first, @end) in. */
void block_set_add(BlockSet *set, uint64_t first, uint64_t end);

/*
 * The first range of [@first, @end) that is not in the set, as long as possible.  False: all of it
 * is in.
 */
bool block_set_gap(const BlockSet *set, uint64_t first, uint64_t end, uint64_t *ret_first,
		   uint64_t *ret_end);

/* The beginning and the end of the range that @block lies in; @block itself if it is not in the set. */
uint64_t block_set_start(const BlockSet *set, uint64_t block);
uint64_t block_set_end(const BlockSet *set, uint64_t block);

void block_set_clear(BlockSet *set);

/*
 * The blocks beside @block in one direction, at most @step and within [@low, @high), of which none is in
 * the set; false: there are none.
 */
bool block_set_gap_beside(const BlockSet *set, uint64_t block, uint64_t step, bool forward,
			  uint64_t low, uint64_t high, uint64_t *ret_first, uint64_t *ret_end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockSet, block_set_free)
