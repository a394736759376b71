/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/schedule-inputs.h"

#include "common/config/time-window.h"

#define SYSFS "/sys"

/* How often to look at sysfs: this takes microseconds and no I/O. */
#define LOOK_USEC (60 * G_USEC_PER_SEC)

/* How often to look at the locks of disks, which are files in memory. */
#define TURN_LOOK_USEC (2 * G_USEC_PER_SEC)

SchedulePolicy schedule_inputs_policy(const Settings *settings)
{
	return (SchedulePolicy){
		.wake_bytes = settings->wake_bytes,
		.wake_interval_usec = (int64_t)settings->wake_interval_usec,
		.only_if_asked = settings->mode == MODE_TIMER,
		.respects_sleep = settings->sleeping == SLEEPING_RESPECT,
		.runs_on_battery = settings->on_battery == HARDSHIP_RUN,
		.runs_degraded = settings->degraded == HARDSHIP_RUN,
	};
}

void schedule_inputs_tell_windows(const Settings *settings, ScheduleState *known,
				  ScheduleState *state)
{
	time_t now = time(NULL);
	time_t change;

	state->has_windows = settings->windows && settings->windows->len > 0;
	state->is_window_open = time_windows_are_open(settings->windows, now);
	if (state->is_window_open && !known->is_window_open)
		known->window_opened_usec = state->now_usec;
	known->is_window_open = state->is_window_open;
	state->window_opened_usec = known->window_opened_usec;
	state->window_changes_usec = SCHEDULE_NEVER;
	if (time_windows_next_change(settings->windows, now, &change))
		state->window_changes_usec =
			state->now_usec + (int64_t)(change - now) * G_USEC_PER_SEC;
}

void schedule_inputs_mark(const FsIdentity *identity, dev_t device, LastMark *ret_mark)
{
	ret_mark->is_known = write_mark_read(SYSFS, identity, device, &ret_mark->mark);
}

void schedule_inputs_tell_changes(const FsIdentity *identity, dev_t device, const LastMark *last,
				  ScheduleState *state)
{
	const WriteMark *then = &last->mark;
	WriteMark now;

	state->has_changed = true;
	state->changed_bytes = 0;
	if (!last->is_known || !write_mark_read(SYSFS, identity, device, &now))
		return;

	state->has_changed =
		now.generation != then->generation || now.written_bytes != then->written_bytes;
	/* A device that was replaced counts from zero. */
	if (now.written_bytes >= then->written_bytes)
		state->changed_bytes = now.written_bytes - then->written_bytes;
}

int64_t schedule_inputs_look_usec(const SchedulePolicy *policy, WaitReason reason)
{
	/* Other processes send no events. */
	if (reason == WAIT_DISK_BUSY || reason == WAIT_LOCKED || reason == WAIT_ON_HOLD)
		return TURN_LOOK_USEC;

	return MIN(LOOK_USEC, MAX(policy->wake_interval_usec, G_USEC_PER_SEC));
}

static LastPass last_pass_of_end(EndReason reason)
{
	return reason == END_FOR_STOP || reason == END_FOR_TIME ? LAST_PASS_OUT_OF_TIME
								: LAST_PASS_CUT_SHORT;
}

/* The outcome of the last pass, for the schedule. */
static LastPass last_pass_of(const EndedPass *ended)
{
	if (ended->result.is_on_hold)
		return LAST_PASS_CUT_SHORT;
	if (ended->result.outcome == PASS_FAILED || ended->result.is_disk_failing)
		return LAST_PASS_FAILED;
	if (ended->result.outcome == PASS_COMPLETE)
		return LAST_PASS_COMPLETE;

	/* The pass may have ended by itself, for lack of space. */
	return ended->was_ended ? last_pass_of_end(ended->reason) : LAST_PASS_OUT_OF_TIME;
}

static void tell_last(LastPass last, ScheduleState *known)
{
	known->last_pass = last;
	known->last_ended_usec = g_get_monotonic_time();
}

void schedule_inputs_tell_end(const EndedPass *ended, ScheduleState *known)
{
	LastPass last = last_pass_of(ended);

	tell_last(last, known);
	known->n_failures = last == LAST_PASS_FAILED ? known->n_failures + 1 : 0;
}

void schedule_inputs_tell_abandoned(EndReason reason, ScheduleState *known)
{
	tell_last(last_pass_of_end(reason), known);
}

void schedule_inputs_tell_failure(ScheduleState *known)
{
	tell_last(LAST_PASS_FAILED, known);
	known->n_failures++;
}
