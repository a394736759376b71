/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/disk-table.h"
#include "daemon/manager/schedule.h"
#include "kernel-ioctl/machine/disk-topology.h"

/*
 * PassConditions - conditions of the machine that keep a pass from beginning: missing or busy devices, sleeping
 * disks, a machine on battery.
 *
 * It reads sysfs, and locks in memory.  Thread: main.
 */
typedef struct PassConditions PassConditions;

/* @table is borrowed. */
PassConditions *pass_conditions_new(DiskTable *table);
void pass_conditions_free(PassConditions *conditions);

/*
 * Look at the devices of a filesystem at @location in @topology, on @disks (Disk), and fill in @state, whose clock must
 * be set.
 */
void pass_conditions_look(PassConditions *conditions, const DiskTopology *topology,
			  const FsLocation *location, const GPtrArray *disks, ScheduleState *state);

/*
 * Check the conditions that need more than sysfs, after all others allow a pass.  Another process
 * may work on the filesystem @uuid, hold it or scrub it.  Only btrfs knows the latter, so the
 * caller has asked it.
 */
void pass_conditions_look_closer(PassConditions *conditions, const char *uuid,
				 bool is_being_scrubbed, ScheduleState *state);

/* Details of @reason in words, beyond wait_reason_text(); NULL: none. */
const char *pass_conditions_text(const PassConditions *conditions, WaitReason reason);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PassConditions, pass_conditions_free)
