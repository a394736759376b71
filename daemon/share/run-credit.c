/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/run-sharer-internal.h"

#include "daemon/share/clone-pairs.h"

void run_credit_stretch(RunSharer *sharer, size_t first, size_t end)
{
	PassResult *result = sharer->pass->result;
	Round *round = sharer->round;
	uint64_t freed_bytes = 0;
	uint64_t hole_bytes = 0;
	uint64_t shared_blocks = 0;

	for (size_t i = first; i < end; i++) {
		uint64_t cost_bytes;

		if (!round_is_shared(round, i))
			continue;
		shared_blocks++;
		cost_bytes = round->target_shared[i] ? 0 : round->target_costs[i];
		freed_bytes += cost_bytes;
		hole_bytes += round_becomes_hole(round, i) ? cost_bytes : 0;
	}

	if (shared_blocks == 0)
		return;

	if (sharer->pass->xfs.clones) {
		clone_pairs_touch(sharer->pass->xfs.clones, round->target->id);
		if (round->source)
			clone_pairs_touch(sharer->pass->xfs.clones, round->source->id);
	}
	witness_sample_add(&sharer->pass->shared, round->target->subvolume, round->target->inode,
			   (round->first + first) * round->block_bytes);
	result->shared.runs++;
	result->shared.bytes += shared_blocks * round->block_bytes;
	sharer->pass->account.gained_bytes += freed_bytes;
	if (sharer->freed)
		return;
	result->freed.bytes += freed_bytes;
	/* Zeros that are shared with each other stay data. */
	if (round->source || zero_filler_has_hole(sharer->zeros))
		result->freed.hole_bytes += hole_bytes;
	atomic_store(&sharer->pass->progress->freed_bytes, result->freed.bytes);
}

void run_credit_same_place(RunSharer *sharer)
{
	Round *round = sharer->round;
	size_t first, end;

	for (size_t from = 0; round_stretch(round, BLOCK_SAME_PLACE, from, &first, &end);
	     from = end) {
		block_set_add(sharer->settled, round->first + first, round->first + end);
		sharer->pass->result->shared.already_bytes +=
			(uint64_t)(end - first) * round->block_bytes;
	}
}

static void estimate_stretch(RunSharer *sharer, size_t first, size_t end)
{
	PassResult *result = sharer->pass->result;
	const Round *round = sharer->round;
	bool is_hole = round->source || zero_filler_has_hole(sharer->zeros);
	uint64_t freed_bytes = 0;
	uint64_t hole_bytes = 0;

	for (size_t i = first; i < end; i++) {
		uint64_t cost_bytes = round->target_shared[i] ? 0 : round->target_costs[i];

		freed_bytes += cost_bytes;
		hole_bytes += is_hole && round_becomes_hole(round, i) ? cost_bytes : 0;
	}

	result->shared.runs++;
	result->shared.bytes += (uint64_t)(end - first) * round->block_bytes;
	sharer->pass->account.gained_bytes += freed_bytes;
	if (sharer->freed)
		return;
	result->freed.bytes += freed_bytes;
	result->freed.hole_bytes += hole_bytes;
}

void run_credit_settle(RunSharer *sharer, size_t first, size_t end)
{
	const Round *round = sharer->round;

	block_set_add(sharer->settled, round->first + first, round->first + end);
	/* Its source is used twice from here on. */
	if (round->source == round->target)
		block_set_add(sharer->had_others, round->first + first - round->diagonal,
			      round->first + end - round->diagonal);
}

void run_credit_estimate(RunSharer *sharer)
{
	const Round *round = sharer->round;
	size_t first, end;

	for (size_t from = 0; round_stretch(round, BLOCK_EQUAL, from, &first, &end); from = end) {
		if (!round_is_worth_it(round, first, end, sharer->min_blocks))
			continue;
		if (!run_sharer_has_clone(sharer))
			estimate_stretch(sharer, first, end);
		run_credit_settle(sharer, first, end);
	}
}
