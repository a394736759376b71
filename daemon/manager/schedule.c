/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/schedule.h"

#include <glib.h>

const char *wait_reason_text(WaitReason reason)
{
	static const char *const texts[WAIT_REASONS] = {
		[WAIT_NOT] = "nothing",
		[WAIT_REFUSED] = "nothing can be deduplicated there",
		[WAIT_PAUSED] = "paused",
		[WAIT_ON_HOLD] = "on hold",
		[WAIT_ON_DEMAND] = "until a pass is requested",
		[WAIT_DEGRADED] = "a disk of it is missing or failing",
		[WAIT_BATTERY] = "the machine runs on battery",
		[WAIT_WINDOW] = "outside its window",
		[WAIT_UNRESPONSIVE] = "it does not answer: its disk or its mount hangs",
		[WAIT_MAINTENANCE] = "a resync, scrub, balance or change of devices runs",
		[WAIT_LOCKED] = "another process works on it",
		[WAIT_DISK_BUSY] = "a pass over another filesystem uses its disk",
		[WAIT_MEMORY] = "passes over other filesystems use the memory",
		[WAIT_RETRY] = "the last pass failed",
		[WAIT_UNCHANGED] = "nothing changed",
		[WAIT_LITTLE_CHANGED] = "little changed",
		[WAIT_DISK_ASLEEP] = "its disk is asleep",
	};

	return texts[reason];
}

static ScheduleAnswer wait_until(WaitReason reason, int64_t until_usec)
{
	return (ScheduleAnswer){ reason, until_usec };
}

static int64_t retry_usec(const ScheduleState *state)
{
	uint32_t doublings = MIN(MAX(state->n_failures, 1) - 1, 16);

	return state->last_ended_usec +
	       MIN(SCHEDULE_RETRY_USEC << doublings, SCHEDULE_RETRY_MOST_USEC);
}

/* Reasons that hold also for a requested pass. */
static ScheduleAnswer hindrance(const SchedulePolicy *policy, const ScheduleState *state)
{
	if (state->is_refused)
		return wait_until(WAIT_REFUSED, SCHEDULE_NEVER);
	if (state->is_paused)
		return wait_until(WAIT_PAUSED, state->paused_until_usec > 0
						       ? state->paused_until_usec
						       : SCHEDULE_NEVER);
	if (state->is_on_hold)
		return wait_until(WAIT_ON_HOLD, SCHEDULE_NEVER);
	if (state->is_degraded && !policy->runs_degraded)
		return wait_until(WAIT_DEGRADED, SCHEDULE_NEVER);
	if (state->is_silent)
		return wait_until(WAIT_UNRESPONSIVE, SCHEDULE_NEVER);
	if (state->is_in_work)
		return wait_until(WAIT_MAINTENANCE, SCHEDULE_NEVER);
	if (state->is_held)
		return wait_until(WAIT_LOCKED, SCHEDULE_NEVER);
	if (state->is_memory_taken)
		return wait_until(WAIT_MEMORY, SCHEDULE_NEVER);
	if (state->is_disk_taken)
		return wait_until(WAIT_DISK_BUSY, SCHEDULE_NEVER);

	return wait_until(WAIT_NOT, 0);
}

/* Whether there is anything to do, and if not, when there will be. */
static ScheduleAnswer need(const SchedulePolicy *policy, const ScheduleState *state)
{
	int64_t interval_ends = state->last_ended_usec + policy->wake_interval_usec;

	switch (state->last_pass) {
	case LAST_PASS_NONE:
	case LAST_PASS_CUT_SHORT:
		return wait_until(WAIT_NOT, 0);
	case LAST_PASS_OUT_OF_TIME:
		/* One pass per window; without windows the interval counts. */
		if (state->has_windows && state->last_ended_usec >= state->window_opened_usec)
			return wait_until(WAIT_WINDOW, state->window_changes_usec);
		if (state->has_windows || state->now_usec >= interval_ends)
			return wait_until(WAIT_NOT, 0);
		return wait_until(WAIT_LITTLE_CHANGED, interval_ends);
	case LAST_PASS_FAILED:
		if (state->now_usec >= retry_usec(state))
			return wait_until(WAIT_NOT, 0);
		return wait_until(WAIT_RETRY, retry_usec(state));
	case LAST_PASS_COMPLETE:
		break;
	}

	if (!state->has_changed)
		return wait_until(WAIT_UNCHANGED, SCHEDULE_NEVER);
	if (state->changed_bytes < policy->wake_bytes && state->now_usec < interval_ends)
		return wait_until(WAIT_LITTLE_CHANGED, interval_ends);
	return wait_until(WAIT_NOT, 0);
}

ScheduleAnswer schedule_next(const SchedulePolicy *policy, const ScheduleState *state)
{
	ScheduleAnswer answer = hindrance(policy, state);

	if (answer.reason != WAIT_NOT || state->is_asked)
		return answer;

	if (policy->only_if_asked)
		return wait_until(WAIT_ON_DEMAND, SCHEDULE_NEVER);
	if (state->is_on_battery && !policy->runs_on_battery)
		return wait_until(WAIT_BATTERY, SCHEDULE_NEVER);
	if (!state->is_window_open)
		return wait_until(WAIT_WINDOW, state->window_changes_usec);

	answer = need(policy, state);
	if (answer.reason != WAIT_NOT)
		return answer;

	/* A window means that the user wants the work done then. */
	if (state->is_disk_asleep && policy->respects_sleep && !state->has_windows)
		return wait_until(WAIT_DISK_ASLEEP, SCHEDULE_NEVER);
	return answer;
}

int64_t schedule_deadline(const ScheduleState *state, int64_t run_for_usec)
{
	int64_t deadline = SCHEDULE_NEVER;

	if (run_for_usec > 0)
		deadline = state->now_usec + run_for_usec;
	/* A requested pass may run outside the windows. */
	if (state->has_windows && state->is_window_open && !state->is_asked)
		deadline = MIN(deadline, state->window_changes_usec);

	return deadline;
}
