/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-counts.h"

#include "daemon/btrfs/plan/extent-zeros.h"

static void count_rewritten(Pass *pass, uint64_t bytes, bool is_deferred)
{
	pass->result->rewritten.bytes += bytes;
	pass->result->rewritten.extents += bytes > 0;
	if (is_deferred)
		pass->result->deferred.written_bytes += bytes;
}

static void count_freed(Pass *pass, const Object *extent, const GArray *steps)
{
	pass->result->freed.bytes += extent->size_bytes;
	pass->result->freed.hole_bytes += extent_zeros_count(steps, pass->block_bytes);
}

static void count_deferred(Pass *pass, const Object *extent)
{
	pass->result->deferred.bytes += extent->size_bytes;
	pass->result->deferred.extents++;
}

static void show_freed(const Pass *pass)
{
	const PassResult *result = pass->result;
	uint64_t written = result->rewritten.bytes - result->deferred.written_bytes;

	atomic_store(&pass->progress->freed_bytes,
		     result->freed.bytes - MIN(written, result->freed.bytes));
}

void extent_counts_add_shared(Pass *pass, uint64_t bytes, bool is_run)
{
	pass->result->shared.bytes += bytes;
	pass->result->shared.runs += is_run;
}

void extent_counts_add_rewritten(Pass *pass, uint64_t bytes, bool is_deferred)
{
	count_rewritten(pass, bytes, is_deferred);
	show_freed(pass);
}

/* A copy that is freed was written in vain, whatever it was written for. */
static void count_copy(Pass *pass, const Object *extent)
{
	uint64_t *written = &pass->result->deferred.written_bytes;

	if ((uint64_t)extent->ctime_nsec >= pass->btrfs.remainders.generation)
		*written -= MIN(extent->size_bytes, *written);
}

void extent_counts_add_freed(Pass *pass, const Object *extent, const GArray *steps)
{
	count_freed(pass, extent, steps);
	count_copy(pass, extent);
	show_freed(pass);
}

/*
 * Whether a store with another secret, and so with other anchors, could miss what covers the extent.  Any store finds
 * equal stretches of as many blocks as AnchorShape guarantees.
 */
static bool is_found_by_chance(const Pass *pass, const Object *extent, const ExtentPlan *plan)
{
	const HashStoreAbout *about = hash_store_about(pass->store);
	uint64_t certain = about->anchor_blocks + about->window_anchors - 1;

	return extent_plan_longest_piece(plan) <
	       MIN(certain, extent->size_bytes / pass->block_bytes);
}

void extent_counts_estimate(Pass *pass, const Object *extent, const ExtentPlan *plan)
{
	const GArray *steps = extent_plan_steps(plan);
	uint64_t rest_bytes = extent_plan_rest_bytes(plan);
	bool is_deferred = extent_plan_holders(plan)->len > 0;

	for (guint i = 0; i < steps->len; i++)
		pass->result->shared.bytes += g_array_index(steps, ExtentStep, i).length;
	pass->result->shared.runs += steps->len;
	if (is_deferred)
		count_deferred(pass, extent);
	else
		count_freed(pass, extent, steps);
	if (!is_deferred && (rest_bytes > 0 || is_found_by_chance(pass, extent, plan)))
		pass->result->freed.unsure_bytes +=
			extent->size_bytes - MIN(rest_bytes, extent->size_bytes);
	count_rewritten(pass, rest_bytes, is_deferred);
}
