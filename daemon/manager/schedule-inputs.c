/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/schedule-inputs.h"

#include "common/config/time-window.h"

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
