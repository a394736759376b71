/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/disk-table.h"
#include "daemon/manager/schedule.h"
#include "kernel-ioctl/machine/disk-topology.h"

/*
 * Hardships - what stands against a pass over a filesystem that has nothing to do with the filesystem
 * itself: devices that are missing or busy, disks that sleep, a machine on battery.
 *
 * From sysfs alone, save for locks in memory.  Thread: main.
 */
typedef struct Hardships Hardships;

/* Both are borrowed. */
Hardships *hardships_new(const DiskTopology *topology, DiskTable *table);
void hardships_free(Hardships *hardships);

/*
 * Look at a filesystem that lies at @location, on @disks (Disk), and tell the schedule, whose clock has
 * to be set in @state.
 */
void hardships_look(Hardships *hardships, const FsLocation *location, const GPtrArray *disks,
		    ScheduleState *state);

/*
 * What is looked at only when nothing else stands against a pass, since it needs more than sysfs: whether another
 * process works on the filesystem @uuid or holds it, and whether it is being scrubbed, which btrfs alone knows and the caller
 * has asked it.
 */
void hardships_look_closer(Hardships *hardships, const char *uuid, bool is_being_scrubbed,
			   ScheduleState *state);

/* What was seen of @reason, in words that say more than wait_reason_text(); NULL: nothing more. */
const char *hardships_text(const Hardships *hardships, WaitReason reason);

/* Whether the machine runs on battery now. */
bool hardships_is_on_battery(const Hardships *hardships);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Hardships, hardships_free)
