/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-location.h"
#include "kernel-ioctl/file/own-options.h"
#include "kernel-ioctl/machine/disk.h"

#include <glib.h>
#include <stdbool.h>

/*
 * DiskTopology - finds the whole disks below a filesystem.
 *
 * The search starts at all devices of a btrfs filesystem, or at the data, log and real-time devices of an XFS
 * filesystem.  It descends from a partition to its disk, and through the kernel's "slaves" (md, LVM, LUKS, other
 * device-mapper targets, bcache).  It descends from a loop device to the filesystem of its file.  A multipath
 * device is one disk, since the devices below it are paths to the same disk.  The loop device is the disk if its
 * file lies on no visible disk (tmpfs, FUSE, NFS, a mount of another namespace).
 *
 * The sources are sysfs, /dev and mountinfo, which tests put elsewhere.
 *
 * Thread: any; during a look one at a time.
 */
typedef struct {
	const char *sysfs;     /* "/sys" */
	const char *dev;       /* "/dev" */
	const char *mountinfo; /* "/proc/self/mountinfo" */
	bool (*locate)(const char *path, FsLocation *ret);

	/* The results of one look so far; all NULL: nothing is kept. */
	DeviceLinks *links;
	OwnOptions *options;
	GHashTable *disks; /* the directory of a disk in sysfs -> Disk; NULL: not read yet */
} DiskTopology;

/* The topology of the running system. */
const DiskTopology *disk_topology_system(void);

/*
 * A copy of @topology for one look at many filesystems: udev's links, mountinfo and each disk are read at most once.  To be freed
 * after it, as nothing of that stays true.
 */
DiskTopology *disk_topology_new_look(const DiskTopology *topology);
void disk_topology_free(DiskTopology *topology);

/*
 * The disks (Disk) below a filesystem, each once, in the order of their numbers, without missing devices.  The
 * array is empty if there is no block device, or sysfs cannot be read.
 */
GPtrArray *disk_topology_find(const DiskTopology *topology, const FsLocation *location);

/* The md arrays between the filesystem and its disks, as directories in sysfs (char *), each once. */
GPtrArray *disk_topology_find_arrays(const DiskTopology *topology, const FsLocation *location);

/* The kernel's names of @disks, NULL-terminated, to be freed. */
char **disks_names(const GPtrArray *disks);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiskTopology, disk_topology_free)
