/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/role-swap.h"

#include "hashstore/objects/objects.h"

struct RoleSwap {
	Pass *pass;
	ObjectTable *table;
	ExtentPlan *other;
	GArray *runs; /* Run, of the extent that may be freed instead */
};

/* At most so many sources of one target are looked at. */
#define SOURCES_MAX 16

/* An object with any of these stays, as a source or because it must not be shared. */
#define FACTS_STAYING (FACTS_SOURCE_ONLY | FACT_HELD | FACT_MOVED | FACT_BARRED | FACT_AWAY)

RoleSwap *role_swap_new(Pass *pass, ObjectTable *table, ExtentPlan *other)
{
	RoleSwap *swap = g_new0(RoleSwap, 1);

	swap->pass = pass;
	swap->table = table;
	swap->other = other;
	swap->runs = g_array_new(false, false, sizeof(Run));
	return swap;
}

void role_swap_free(RoleSwap *swap)
{
	if (!swap)
		return;

	g_array_unref(swap->runs);
	g_free(swap);
}

static bool may_go(ObjectTable *table, uint32_t source)
{
	unsigned facts = object_table_facts(table, source);

	/* An extent with several references costs more to share. */
	return facts & FACT_EXTENT &&
	       !(facts & (FACTS_STAYING | FACT_STRETCH | FACT_SHARED | FACT_NO_COW));
}

static uint64_t blocks_from(const GArray *runs, uint32_t source)
{
	uint64_t blocks = 0;

	for (guint i = 0; i < runs->len; i++) {
		const Run *run = &g_array_index(runs, Run, i);

		blocks += run->source == source ? run->blocks : 0;
	}

	return blocks;
}

uint32_t role_swap_main_source(ObjectTable *table, const GArray *runs, uint64_t *ret_blocks)
{
	uint32_t best = RUN_HOLE, last = RUN_HOLE;
	unsigned tried = 0;

	*ret_blocks = 0;

	for (guint i = 0; i < runs->len && tried < SOURCES_MAX; i++) {
		uint32_t source = g_array_index(runs, Run, i).source;
		uint64_t blocks;

		if (source == RUN_HOLE || source == last)
			continue;
		tried++;
		last = source;
		blocks = blocks_from(runs, source);
		if (blocks <= *ret_blocks)
			continue;
		*ret_blocks = blocks;
		best = source;
	}

	return best != RUN_HOLE && may_go(table, best) ? best : RUN_HOLE;
}

static void swap_runs(const GArray *runs, uint32_t source, uint64_t source_rank, uint32_t target,
		      GArray *turned)
{
	g_array_set_size(turned, 0);
	for (guint i = 0; i < runs->len; i++) {
		const Run *run = &g_array_index(runs, Run, i);
		Run other = {
			.target_rank = source_rank,
			.target_block = run->source_block,
			.source_block = run->target_block,
			.blocks = run->blocks,
			.source = target,
		};

		if (run->source == source)
			g_array_append_val(turned, other);
	}
}

/* Find the source that may be freed instead of @target, and its runs; *ret_found is false if there is none. */
static bool find(RoleSwap *swap, const Object *target, const GArray *runs, Object *ret,
		 bool *ret_found, GError **error)
{
	uint64_t blocks;
	uint32_t source = role_swap_main_source(swap->table, runs, &blocks);

	*ret_found = false;
	if (source == RUN_HOLE)
		return true;
	if (!hash_store_peek(swap->pass->store, source, ret, ret_found, error))
		return false;

	*ret_found =
		*ret_found && ret->state == OBJECT_DONE && ret->size_bytes < target->size_bytes;
	if (*ret_found)
		swap_runs(runs, source, object_table_rank(swap->table, source), target->id,
			  swap->runs);
	return true;
}

bool role_swap_try(RoleSwap *swap, ExtentPlan **plan, Object *target, GArray *runs, bool *ret,
		   GError **error)
{
	uint64_t rest_bytes = extent_plan_rest_bytes(*plan);
	ExtentPlan *other = swap->other;
	ExtentPlanOutcome outcome;
	SkipReason ignored;
	Object source;

	*ret = false;
	if (rest_bytes == 0)
		return true;
	if (!find(swap, target, runs, &source, ret, error))
		return false;
	if (!*ret)
		return true;
	if (!extent_plan_make(other, &source, swap->runs, &outcome, &ignored, error))
		return false;

	*ret = outcome == EXTENT_PLANNED && extent_plan_rest_bytes(other) < rest_bytes;
	if (*ret)
		extent_plan_judge(other, &outcome, &ignored);
	*ret = outcome == EXTENT_PLANNED && *ret;
	if (!*ret)
		return true;

	*target = source;
	swap->other = *plan;
	*plan = other;
	g_array_set_size(runs, 0);
	g_array_append_vals(runs, swap->runs->data, swap->runs->len);
	return true;
}
