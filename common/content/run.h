/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Run - a stretch of blocks of a target that is thought to equal one of a source, or zeros.
 *
 * Its ends are estimated from anchors; the exact ones are found when the data is compared.
 */

/* No object has this id: the source is a hole. */
#define RUN_HOLE UINT32_C(0)

typedef struct {
	uint64_t target_rank; /* object_table_rank(); the target's id in the lower 32 bits */
	uint64_t target_block;
	uint64_t source_block;
	uint64_t blocks;
	uint32_t source;
} Run;

static inline uint32_t run_target(const Run *run)
{
	return (uint32_t)run->target_rank;
}

/* Whether the source is another place of the target itself. */
static inline bool run_is_inside(const Run *run)
{
	return run->source == run_target(run);
}

/*
 * Order of planning: by the target's rank, runs from other objects before those inside it, then by
 * block, longer and lower source first.
 */
int run_compare(const void *a, const void *b);
