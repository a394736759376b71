/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Run - a range of a target's blocks that is expected to equal a range of a source, or zeros.
 *
 * Its ends are estimates from anchors; comparing the data finds the exact ones.
 */

/* The source is a hole; no object has this id. */
#define RUN_HOLE UINT32_C(0)

typedef struct {
	uint64_t target_rank; /* object_table_rank(); the target's id in the lower 32 bits */
	uint64_t target_block;
	uint64_t source_block;
	uint64_t blocks;
	uint32_t source;
	/* object_table_rank_class() of the source, for RunOrder; 0: a hole, or a run that is planned at once. */
	uint32_t source_class;
} Run;

static inline uint32_t run_target(const Run *run)
{
	return (uint32_t)run->target_rank;
}

/* The source is another range of the target itself. */
static inline bool run_is_inside(const Run *run)
{
	return run->source == run_target(run);
}

/*
 * The order of planning: by the target's rank, runs from other objects before those inside it, by block,
 * longer source first, then lower source.
 */
int run_compare(const void *a, const void *b);
