/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"
#include "daemon/manager/managed-pass.h"
#include "daemon/manager/schedule.h"
#include "kernel-ioctl/file/write-mark.h"

/*
 * The schedule's inputs: from the settings of a filesystem, the time of the day, sysfs, and the passes that ended.
 *
 * Thread: main.
 */
SchedulePolicy schedule_inputs_policy(const Settings *settings);

/* Fill in the windows in @state, whose clock is set.  @known keeps the time when one opened. */
void schedule_inputs_tell_windows(const Settings *settings, ScheduleState *known,
				  ScheduleState *state);

/* The mark that sysfs reported when a pass began, if it did. */
typedef struct {
	bool is_known;
	WriteMark mark;
} LastMark;

void schedule_inputs_mark(const FsIdentity *identity, dev_t device, LastMark *ret_mark);

/* Fill in how much changed since @last, as far as sysfs tells. */
void schedule_inputs_tell_changes(const FsIdentity *identity, dev_t device, const LastMark *last,
				  ScheduleState *state);

/* How soon to look again at a filesystem that waits for @reason, if no event happens. */
int64_t schedule_inputs_look_usec(const SchedulePolicy *policy, WaitReason reason);

/* Note in @known how a pass over all of the filesystem ended; was given up before it began; or could not begin. */
void schedule_inputs_tell_end(const EndedPass *ended, ScheduleState *known);
void schedule_inputs_tell_abandoned(EndReason reason, ScheduleState *known);
void schedule_inputs_tell_failure(ScheduleState *known);
