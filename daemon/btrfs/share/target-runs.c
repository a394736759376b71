/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/share/target-runs.h"

#define RUNS_MAX (1 << 17)

TargetRuns target_runs_make(void)
{
	return (TargetRuns){ .list = g_array_new(false, false, sizeof(Run)) };
}

void target_runs_end(TargetRuns *runs)
{
	g_clear_pointer(&runs->list, g_array_unref);
}

void target_runs_clear(TargetRuns *runs)
{
	runs->target = 0;
	runs->has_zeros = false;
	g_array_set_size(runs->list, 0);
}

void target_runs_add(TargetRuns *runs, const Run *run)
{
	bool is_hole = run->source == RUN_HOLE;

	runs->target = run_target(run);
	if (run_is_inside(run) || (is_hole && runs->has_zeros) || runs->list->len >= RUNS_MAX)
		return;

	runs->has_zeros |= is_hole;
	g_array_append_val(runs->list, *run);
}
