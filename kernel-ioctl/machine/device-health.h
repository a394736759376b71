/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/machine/disk-topology.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * DeviceHealth - the state of the devices under a filesystem: missing ones, work on them, and errors.
 *
 * It is read from sysfs alone, so that no disk is woken.  Facts: md/degraded counts missing members and
 * md/sync_action names the work (Documentation/admin-guide/md.rst).  btrfs has devinfo/N/missing (5.6),
 * error_stats (5.14) and exclusive_operation.  Only read, write and flush errors count, which the device
 * itself reported.  Wrong checksums do not: they may be of old data, and each read counts them again.
 *
 * Thread: any.
 */
typedef struct {
	char *lack;       /* "md0 lacks 1 of its devices"; NULL: no device is missing */
	char *array_work; /* "a resync of md0"; NULL: none */
	char *btrfs_work; /* "a balance of the btrfs"; NULL: none */
	uint64_t errors;  /* of btrfs, since its counters were reset */
} DeviceHealth;

void device_health_read(const DiskTopology *topology, const FsLocation *location,
			DeviceHealth *ret);
void device_health_clear(DeviceHealth *health);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DeviceHealth, device_health_clear)
