/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/disk-table.h"
#include "common/mounts/mount-table.h"
#include "daemon/context/filesystem.h"
#include "kernel-ioctl/machine/disk-topology.h"

/*
 * ManagedMount - where a filesystem of the service is mounted, and on which disks it lies, at the last look.
 *
 * Written by the functions below alone; at first all is zero.  Thread: main.
 */
typedef struct {
	bool is_mounted;
	FsIdentity identity;
	dev_t device;
	GPtrArray *lies_on; /* Disk; NULL: not looked for yet */
	char **disk_names;  /* of these */
	char *mount_point;
	char **targets; /* mount points that together show all of it */
	char *refusal;
} ManagedMount;

/* Take over the present mount.  NULL: it is unmounted. */
void managed_mount_set(ManagedMount *mount, const MountedFilesystem *mounted);

FsLocation managed_mount_location(const ManagedMount *mount);

/* Find its disks in @topology and put them into @table.  Those of a btrfs filesystem may change; finding them needs no I/O. */
void managed_mount_find_disks(ManagedMount *mount, const DiskTopology *topology, DiskTable *table);

/* Steal the only element of @found.  NULL: it is not the filesystem @uuid on this device. */
Filesystem *managed_mount_take(const ManagedMount *mount, const char *uuid, GPtrArray *found,
			       GError **error);

void managed_mount_clear(ManagedMount *mount);
