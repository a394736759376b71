/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate-coverage.h"

#include "hashstore/sorter.h"

#include <string.h>

struct EstimateCoverage {
	Sorter *runs;
};

static int compare_runs(const void *a, const void *b)
{
	const SequenceRun *one = a, *other = b;

	return (one->target > other->target) - (one->target < other->target);
}

EstimateCoverage *estimate_coverage_new(const EstimateTask *task)
{
	EstimateCoverage *coverage = g_new0(EstimateCoverage, 1);

	coverage->runs = sorter_new(sizeof(SequenceRun), compare_runs,
				    task->settings->memory_bytes / 8, task->directory, task->stop);
	return coverage;
}

void estimate_coverage_free(EstimateCoverage *coverage)
{
	if (!coverage)
		return;

	g_clear_pointer(&coverage->runs, sorter_free);
	g_free(coverage);
}

bool estimate_coverage_add(EstimateCoverage *coverage, const SequenceRun *run, GError **error)
{
	return sorter_add(coverage->runs, run, error);
}

bool estimate_coverage_count(EstimateCoverage *coverage, unsigned usual,
			     uint64_t ret_blocks[ESTIMATE_WAYS], uint64_t *ret_n_runs,
			     GError **error)
{
	uint64_t ends[ESTIMATE_WAYS] = { 0 };
	const SequenceRun *run;

	memset(ret_blocks, 0, ESTIMATE_WAYS * sizeof(ret_blocks[0]));
	*ret_n_runs = 0;
	if (!sorter_sort(coverage->runs, error))
		return false;
	while (true) {
		if (!sorter_next(coverage->runs, (const void **)&run, error))
			return false;
		if (!run)
			return true;

		for (unsigned way = 0; way < ESTIMATE_WAYS; way++) {
			uint64_t begin = MAX(run->target, ends[way]);
			uint64_t end = run->target + run->n_blocks;

			if (!(run->ways >> way & 1) || begin >= end)
				continue;
			ret_blocks[way] += end - begin;
			*ret_n_runs += way == usual;
			ends[way] = end;
		}
	}
}
