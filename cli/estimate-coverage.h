/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate-sequence.h"

/*
 * EstimateCoverage - what runs free where every block is freed by itself: each block that is in the target
 * of a run, once.  Its source comes earlier, so that of equal blocks the first one stays.
 *
 * Thread: one at a time.
 */
typedef struct EstimateCoverage EstimateCoverage;

EstimateCoverage *estimate_coverage_new(const EstimateTask *task);
void estimate_coverage_free(EstimateCoverage *coverage);

bool estimate_coverage_add(EstimateCoverage *coverage, const SequenceRun *run, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Of each way the blocks, and in *ret_n_runs how many stretches of them the way @usual frees. */
bool estimate_coverage_count(EstimateCoverage *coverage, unsigned usual,
			     uint64_t ret_blocks[ESTIMATE_WAYS], uint64_t *ret_n_runs,
			     GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EstimateCoverage, estimate_coverage_free)
