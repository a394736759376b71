/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-location.h"
#include "kernel-ioctl/machine/disk.h"

#include <glib.h>
#include <stdbool.h>

/*
 * DiskTopology - on which whole disks a filesystem lies.
 *
 * Down from its devices: from a partition to what it is a part of; through what the kernel calls
 * slaves (md, LVM, LUKS, other device-mapper targets, bcache); from a loop device to the filesystem
 * of its file; of a btrfs to all its devices, of an XFS also to those of its log and its real-time
 * data.  A multipath device is one disk, since what lies below are ways to the same one.  Where a
 * loop device's file lies on no disk that can be seen (tmpfs, FUSE, NFS, a mount of another
 * namespace) the loop device is the disk.
 *
 * All is read from sysfs, /dev and mountinfo, which tests put elsewhere.
 *
 * Thread: any.
 */
typedef struct {
	const char *sysfs;     /* "/sys" */
	const char *dev;       /* "/dev" */
	const char *mountinfo; /* "/proc/self/mountinfo" */
	bool (*locate)(const char *path, FsLocation *ret);
} DiskTopology;

/* That of the running system. */
const DiskTopology *disk_topology_system(void);

/*
 * The disks (Disk) under a filesystem, each once, in the order of their numbers; devices that are
 * gone are not among them.  None where there is no block device, or sysfs cannot be read.
 */
GPtrArray *disk_topology_find(const DiskTopology *topology, const FsLocation *location);

/* The md arrays on the way to these, as their directories in sysfs (char *), each once. */
GPtrArray *disk_topology_find_arrays(const DiskTopology *topology, const FsLocation *location);

/* The names of @disks as the kernel has them, NULL-terminated, to be freed. */
char **disks_names(const GPtrArray *disks);

/* Whether the kernel calls any of @disks rotating. */
bool disks_are_rotating(const GPtrArray *disks);
