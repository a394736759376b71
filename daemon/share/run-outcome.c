/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/run-sharer-internal.h"

#include "daemon/share/clone-pairs.h"

void run_outcome_stretch(RunSharer *sharer, size_t first, size_t end)
{
	PassResult *result = sharer->pass->result;
	DedupeWindow *window = sharer->window;
	uint64_t freed_bytes = 0;
	uint64_t hole_bytes = 0;
	uint64_t shared_blocks = 0;

	for (size_t i = first; i < end; i++) {
		uint64_t cost_bytes;

		if (!dedupe_window_is_shared(window, i))
			continue;
		shared_blocks++;
		cost_bytes = window->target_shared[i] ? 0 : window->target_costs[i];
		freed_bytes += cost_bytes;
		hole_bytes += dedupe_window_becomes_hole(window, i) ? cost_bytes : 0;
	}

	if (shared_blocks == 0)
		return;

	if (sharer->pass->xfs.clones) {
		clone_pairs_touch(sharer->pass->xfs.clones, window->target->id);
		if (window->source)
			clone_pairs_touch(sharer->pass->xfs.clones, window->source->id);
	}
	witness_sample_add(&sharer->pass->shared, window->target->subvolume, window->target->inode,
			   (window->first + first) * window->block_bytes);
	result->shared.runs++;
	result->shared.bytes += shared_blocks * window->block_bytes;
	sharer->pass->account.gained_bytes += freed_bytes;
	if (sharer->freed)
		return;
	result->freed.bytes += freed_bytes;
	/* Zeros that are shared with each other stay data. */
	if (window->source || zero_filler_has_hole(sharer->zeros))
		result->freed.hole_bytes += hole_bytes;
	atomic_store(&sharer->pass->progress->freed_bytes, result->freed.bytes);
}

void run_outcome_same_place(RunSharer *sharer)
{
	DedupeWindow *window = sharer->window;
	size_t first, end;

	for (size_t from = 0; dedupe_window_stretch(window, BLOCK_SAME_PLACE, from, &first, &end);
	     from = end) {
		block_set_add(sharer->settled, window->first + first, window->first + end);
		sharer->pass->result->shared.already_bytes +=
			(uint64_t)(end - first) * window->block_bytes;
	}
}

static void estimate_stretch(RunSharer *sharer, size_t first, size_t end)
{
	PassResult *result = sharer->pass->result;
	const DedupeWindow *window = sharer->window;
	bool is_hole = window->source || zero_filler_has_hole(sharer->zeros);
	uint64_t freed_bytes = 0;
	uint64_t hole_bytes = 0;

	for (size_t i = first; i < end; i++) {
		uint64_t cost_bytes = window->target_shared[i] ? 0 : window->target_costs[i];

		freed_bytes += cost_bytes;
		hole_bytes += is_hole && dedupe_window_becomes_hole(window, i) ? cost_bytes : 0;
	}

	result->shared.runs++;
	result->shared.bytes += (uint64_t)(end - first) * window->block_bytes;
	sharer->pass->account.gained_bytes += freed_bytes;
	if (sharer->freed)
		return;
	result->freed.bytes += freed_bytes;
	result->freed.hole_bytes += hole_bytes;
}

void run_outcome_settle(RunSharer *sharer, size_t first, size_t end)
{
	const DedupeWindow *window = sharer->window;

	block_set_add(sharer->settled, window->first + first, window->first + end);
	/* Its source is used twice from here on. */
	if (window->source == window->target)
		block_set_add(sharer->had_others, window->first + first - window->diagonal,
			      window->first + end - window->diagonal);
}

void run_outcome_estimate(RunSharer *sharer)
{
	const DedupeWindow *window = sharer->window;
	size_t first, end;

	for (size_t from = 0; dedupe_window_stretch(window, BLOCK_EQUAL, from, &first, &end);
	     from = end) {
		if (!dedupe_window_is_worth_it(window, first, end, sharer->min_blocks))
			continue;
		if (!run_sharer_has_clone(sharer))
			estimate_stretch(sharer, first, end);
		run_outcome_settle(sharer, first, end);
	}
}
