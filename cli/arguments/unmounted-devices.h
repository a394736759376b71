/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * UnmountedDevice - a block device with a btrfs or XFS filesystem that nobody has mounted.
 *
 * The database of udev tells what a device holds, without waking the disk.  Without udev, libblkid
 * reads each device that the caller may read.  A separate process does that, and devices that hang
 * are left out.
 *
 * Thread: main, of a process that has no other.
 */
typedef struct {
	char *path;  /* "/dev/sdb1" */
	char *type;  /* "btrfs", "xfs" */
	char *uuid;  /* of the filesystem */
	char *label; /* empty: none */
} UnmountedDevice;

/* All of them (UnmountedDevice), by the names of the kernel. */
GPtrArray *unmounted_devices_find(void);

/* The names that the configuration may have for the filesystem on @device, one of @devices; to be freed. */
char **unmounted_device_names(const GPtrArray *devices, const UnmountedDevice *device);

/* The paths of those with the @uuid, NULL-terminated, to be freed: the devices of a btrfs filesystem, or copies. */
char **unmounted_devices_with(const GPtrArray *devices, const char *uuid);
