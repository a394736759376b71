/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BlockSet - a set of block numbers, stored as ranges: for instance the settled blocks of a target.  It grows
 * mostly at its end.
 *
 * Thread: one at a time.
 */
typedef struct BlockSet BlockSet;

BlockSet *block_set_new(void);
void block_set_free(BlockSet *set);

/* Add [@first, @end). */
void block_set_add(BlockSet *set, uint64_t first, uint64_t end);

/*
 * The first range of [@first, @end) that is not in the set, as long as possible.  False: all of it is in the set.
 */
bool block_set_gap(const BlockSet *set, uint64_t first, uint64_t end, uint64_t *ret_first,
		   uint64_t *ret_end);

/* The beginning and the end of the range that contains @block; @block itself if it is not in the set. */
uint64_t block_set_start(const BlockSet *set, uint64_t block);
uint64_t block_set_end(const BlockSet *set, uint64_t block);

void block_set_clear(BlockSet *set);

/*
 * The blocks next to @block in one direction up to the next one in the set, at most @step, and within [@low,
 * @high).  False: there are none.
 */
bool block_set_gap_beside(const BlockSet *set, uint64_t block, uint64_t step, bool forward,
			  uint64_t low, uint64_t high, uint64_t *ret_first, uint64_t *ret_end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockSet, block_set_free)
