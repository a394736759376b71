/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-outcome.h"

#include "daemon/btrfs/pinned/deferred-extents.h"
#include "daemon/btrfs/plan/extent-zeros.h"
#include "hashstore/objects/open-extents.h"

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

void extent_outcome_note_shared(Pass *pass, uint64_t bytes, bool is_run)
{
	pass->result->shared.bytes += bytes;
	pass->result->shared.runs += is_run;
}

void extent_outcome_note_rewritten(Pass *pass, uint64_t bytes, bool is_deferred)
{
	count_rewritten(pass, bytes, is_deferred);
	show_freed(pass);
}

/* A copy that is freed was written in vain, whatever it was written for. */
static void count_copy(Pass *pass, const Object *extent)
{
	uint64_t *written = &pass->result->deferred.written_bytes;

	if (object_extent_generation(extent) >= pass->btrfs.remainders.generation)
		*written -= MIN(extent->size_bytes, *written);
}

static bool drop(Pass *pass, ObjectTable *table, const Object *extent, GError **error)
{
	object_table_remove_fact(table, extent->id, FACT_LIVE);
	return hash_store_drop_extent(pass->store, extent->inode, error);
}

bool extent_outcome_note_gone(Pass *pass, ObjectTable *table, const Object *extent, GError **error)
{
	pass->result->files.gone++;
	return deferred_extents_lose(pass->btrfs.deferred, extent->inode, error) &&
	       drop(pass, table, extent, error);
}

bool extent_outcome_note_freed(Pass *pass, ObjectTable *table, PlannedTarget *planned,
			       GError **error)
{
	planned->claim = (RemainderClaim){ 0 };
	if (!deferred_extents_take(pass->btrfs.deferred, planned->extent.inode, error))
		return false;
	count_freed(pass, &planned->extent, planned->steps);
	count_copy(pass, &planned->extent);
	show_freed(pass);
	return drop(pass, table, &planned->extent, error);
}

void extent_outcome_note_skipped(Pass *pass, const Object *target, SkipReason reason,
				 const ExtentRef *place)
{
	SkipLedger *skips = &pass->result->skips;
	g_autofree char *path = NULL;

	if (place && skip_ledger_wants_example(skips, reason))
		path = extent_scope_path(pass->btrfs.scope, place);
	skip_ledger_add(skips, reason, target->size_bytes, path);
	if (skip_may_pass(reason))
		postponed_add(pass->postponed, pass->store, target->id);
	if (reason == SKIP_READ_ONLY || reason == SKIP_NO_METADATA_SPACE)
		postponed_add_rest(pass->postponed);
}

/*
 * Whether a pass with another store would do what is planned.  Anchors depend on the store's secret, so equal ranges
 * that are shorter than an AnchorShape guarantees are found by chance.  The references that @extent gains as a source
 * are missing in a dry run, and a pass may find that they cost too much.
 */
static bool is_certain(const Pass *pass, ObjectTable *table, const Object *extent,
		       const ExtentPlan *plan)
{
	uint64_t least = hash_store_certain_blocks(pass->store);
	const ExtentCover *cover = extent_plan_cover(plan);

	if (object_table_facts(table, extent->id) & FACT_SERVED)
		return false;
	return !cover ||
	       extent_cover_shortest(cover) >= MIN(least, extent->size_bytes / pass->block_bytes);
}

void extent_outcome_estimate(Pass *pass, ObjectTable *table, const Object *extent,
			     const ExtentPlan *plan)
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
	if (!is_deferred && (rest_bytes > 0 || !is_certain(pass, table, extent, plan)))
		pass->result->freed.unsure_bytes +=
			extent->size_bytes - MIN(rest_bytes, extent->size_bytes);
	count_rewritten(pass, rest_bytes, is_deferred);
}
