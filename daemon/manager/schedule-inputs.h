/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"
#include "daemon/manager/schedule.h"

/*
 * The schedule's inputs: from the settings of a filesystem, and from the time of the day.
 *
 * Thread: main.
 */
SchedulePolicy schedule_inputs_policy(const Settings *settings);

/* Fill in the windows in @state, whose clock is set.  @known keeps the time when one opened. */
void schedule_inputs_tell_windows(const Settings *settings, ScheduleState *known,
				  ScheduleState *state);
