/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/run.h"

#include <glib.h>

/*
 * TargetRuns - the runs of one target, in the order of RunOrder.  Later ones of a great many are left out.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	uint32_t target; /* id; 0: there is no run */
	GArray *list;    /* Run, from other extents or a hole */
	bool has_zeros;  /* one of these is from a hole */
} TargetRuns;

TargetRuns target_runs_make(void);
void target_runs_end(TargetRuns *runs);

/* Begin with another target. */
void target_runs_clear(TargetRuns *runs);

/* Add a run of the target.  Of zeros, there is one; and those from the target itself tell only that it repeats. */
void target_runs_add(TargetRuns *runs, const Run *run);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TargetRuns, target_runs_end)
