/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/match/planner.h"

#include <stdlib.h>

#define OVERLAP_MAX 256

struct Planner {
	Sorter *runs;
	bool (*is_wanted)(uint32_t target, void *data); /* NULL: all are */
	void *data;
	Run next; /* the first run that is not in the batch */
	bool has_next;
	bool is_started;
	uint64_t target_rank; /* of the batch */
	size_t n_batch;
	size_t n_given;
	Run batch[OVERLAP_MAX]; /* runs of one target that overlap, longest first */
	Plan plan;
};

Planner *planner_new(Sorter *runs, bool (*is_wanted)(uint32_t target, void *data), void *data)
{
	Planner *planner = g_new0(Planner, 1);

	planner->runs = runs;
	planner->is_wanted = is_wanted;
	planner->data = data;
	return planner;
}

void planner_free(Planner *planner)
{
	g_free(planner);
}

static int compare_lengths(const void *a, const void *b)
{
	const Run *one = a;
	const Run *other = b;

	/* Inside one object what is shared first is the source of what comes behind. */
	if (!run_is_inside(one) && one->blocks != other->blocks)
		return one->blocks > other->blocks ? -1 : 1;
	return run_compare(a, b);
}

static bool advance(Planner *planner, GError **error)
{
	const Run *run;

	do {
		if (!sorter_next(planner->runs, (const void **)&run, error))
			return false;
	} while (run && planner->is_wanted && !planner->is_wanted(run_target(run), planner->data));

	planner->has_next = run;
	if (run)
		planner->next = *run;
	return true;
}

/* Take the next run and those that overlap it, or each other, into the batch. */
static bool fill_batch(Planner *planner, GError **error)
{
	uint64_t end = 0;

	planner->n_batch = 0;
	planner->n_given = 0;
	if (!planner->has_next)
		return true;

	planner->plan.begins_target =
		!planner->is_started || planner->next.target_rank != planner->target_rank;
	planner->target_rank = planner->next.target_rank;
	planner->is_started = true;

	while (planner->has_next && planner->n_batch < OVERLAP_MAX &&
	       planner->next.target_rank == planner->target_rank &&
	       (planner->n_batch == 0 ||
		run_is_inside(&planner->next) == run_is_inside(&planner->batch[0])) &&
	       (planner->n_batch == 0 || planner->next.target_block < end)) {
		planner->batch[planner->n_batch++] = planner->next;
		end = MAX(end, planner->next.target_block + planner->next.blocks);
		if (!advance(planner, error))
			return false;
	}

	qsort(planner->batch, planner->n_batch, sizeof(Run), compare_lengths);
	return true;
}

bool plan_next(Planner *planner, const Plan **ret, GError **error)
{
	*ret = NULL;
	if (!planner->is_started && !advance(planner, error))
		return false;

	if (planner->n_given == planner->n_batch) {
		if (!fill_batch(planner, error))
			return false;
	} else {
		planner->plan.begins_target = false;
	}

	if (planner->n_batch == 0)
		return true;

	planner->plan.run = planner->batch[planner->n_given++];
	*ret = &planner->plan;
	return true;
}
