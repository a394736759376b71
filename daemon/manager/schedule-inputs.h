/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"
#include "daemon/manager/schedule.h"

/*
 * The schedule's inputs from a filesystem's settings, and from the time of the day.
 *
 * Thread: main.
 */
SchedulePolicy schedule_inputs_policy(const Settings *settings);

/* Tell @state, whose clock is set, of the windows; when one opened is kept in @known. */
void schedule_inputs_tell_windows(const Settings *settings, ScheduleState *known,
				  ScheduleState *state);
