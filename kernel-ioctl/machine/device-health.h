/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/machine/disk-topology.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * DeviceHealth - what the kernel says of the devices under a filesystem: whether any is missing, what
 * goes on among them, and how often they failed.
 *
 * From sysfs alone, so that nothing is opened on the filesystem and no disk is woken.  Facts:
 * md/degraded of an array counts the members that it lacks, md/sync_action is what it does
 * (Documentation/admin-guide/md.rst); of a btrfs devinfo/N/missing (5.6) and error_stats (5.14)
 * are those of each device, and exclusive_operation says what moves its extents.  Of error_stats
 * what the device itself refused is counted, reads, writes and flushes: wrong checksums may be of old
 * data, and count anew whenever somebody reads it.
 *
 * Thread: any.
 */
typedef struct {
	char *lack;       /* "md0 lacks 1 of its devices"; NULL: nothing is missing */
	char *array_work; /* "a resync of md0"; NULL: nothing goes on */
	char *btrfs_work; /* "a balance of the btrfs"; NULL: the same */
	uint64_t errors;  /* of a btrfs, since its counters were reset */
} DeviceHealth;

void device_health_read(const DiskTopology *topology, const FsLocation *location,
			DeviceHealth *ret);
void device_health_clear(DeviceHealth *health);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DeviceHealth, device_health_clear)
