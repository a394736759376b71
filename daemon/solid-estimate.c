/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/solid-estimate.h"

#include "kernel-ioctl/dedupe-range.h"

/* The part of the run that lies within both. */
static void clip(const Run *run, uint64_t target_blocks, uint64_t source_blocks,
		 uint64_t *ret_first, uint64_t *ret_end)
{
	uint64_t diagonal = run->target_block - run->source_block;

	*ret_first = run->target_block;
	if ((int64_t)diagonal > 0)
		*ret_first = MAX(*ret_first, diagonal);
	*ret_end =
		MIN(run->target_block + run->blocks, MIN(target_blocks, source_blocks + diagonal));
}

void solid_estimate_add(Pass *pass, const Run *run, uint64_t target_blocks, uint64_t source_blocks,
			BlockSet *settled)
{
	uint64_t round_blocks = DEDUPE_ROUND_BYTES / pass->block_bytes;
	PassResult *result = pass->result;
	uint64_t from, end, gap_first, gap_end;

	clip(run, target_blocks, source_blocks, &from, &end);
	while (from < end && block_set_gap(settled, from, end, &gap_first, &gap_end)) {
		uint64_t blocks = gap_end - gap_first;
		uint64_t bytes = blocks * pass->block_bytes;

		/* Each round counts, as when they are shared. */
		result->shared.runs += (blocks + round_blocks - 1) / round_blocks;
		result->shared.bytes += bytes;
		result->freed.bytes += bytes;
		block_set_add(settled, gap_first, gap_end);
		from = gap_end;
	}
}
