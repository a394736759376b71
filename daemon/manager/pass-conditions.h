/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/disk-table.h"
#include "daemon/manager/schedule.h"
#include "kernel-ioctl/machine/disk-topology.h"

/*
 * PassConditions - what stands against a pass over a filesystem that has nothing to do with the filesystem
 * itself: devices that are missing or busy, disks that sleep, a machine on battery.
 *
 * From sysfs alone, save for locks in memory.  Thread: main.
 */
typedef struct PassConditions PassConditions;

/* Both are borrowed. */
PassConditions *pass_conditions_new(const DiskTopology *topology, DiskTable *table);
void pass_conditions_free(PassConditions *hardships);

/*
 * Look at a filesystem that lies at @location, on @disks (Disk), and tell the schedule, whose clock has
 * to be set in @state.
 */
void pass_conditions_look(PassConditions *hardships, const FsLocation *location,
			  const GPtrArray *disks, ScheduleState *state);

/*
 * Check the conditions that need more than sysfs, when nothing else stands against a pass: whether another process
 * works on the filesystem @uuid or holds it, and whether it is being scrubbed.  Only btrfs knows that, so the
 * caller has asked it.
 */
void pass_conditions_look_closer(PassConditions *hardships, const char *uuid,
				 bool is_being_scrubbed, ScheduleState *state);

/* Details of @reason in words, beyond wait_reason_text(); NULL: none. */
const char *pass_conditions_text(const PassConditions *hardships, WaitReason reason);

/* Whether the machine runs on battery now. */
bool pass_conditions_is_on_battery(const PassConditions *hardships);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PassConditions, pass_conditions_free)
