/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/machine/device-links.h"

#include <glib.h>
#include <stdbool.h>

/*
 * Disk - a whole block device with no visible device below it.  Each disk has one budget.
 *
 * Facts from sysfs (Documentation/ABI/stable/sysfs-block) and from udev's links.  It holds nothing
 * open, so the disk may be pulled out.
 *
 * Set when found, never changed.  Thread: any.
 */
typedef struct {
	char *name; /* the kernel's name, such as "sda" */
	unsigned major;
	unsigned minor;
	char **ids; /* its names in /dev/disk/by-id, sorted; empty without udev */
	bool is_virtual; /* of a virtual machine, on a network, in memory: the kernel knows no properties */
	bool is_rotating; /* as the kernel reports, also for USB disks without platters; false if virtual */
	bool is_removable; /* the medium can be taken out, or the disk is on USB */
	char *stat_path;   /* the file with its counters (DiskStat) */
} Disk;

/*
 * The disk whose directory in sysfs is @directory, free of symlinks.  @links are udev's.  NULL if
 * there is no such disk (any more).
 */
Disk *disk_read(const char *directory, DeviceLinks *links);
Disk *disk_copy(const Disk *disk);
void disk_free(Disk *disk);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Disk, disk_free)
