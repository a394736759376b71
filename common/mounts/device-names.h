/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/mounts/mount-table.h"

/*
 * DeviceNames - the names by which other programs know what a filesystem lies on: devices, the links to them that udev
 * makes, and tags as in fstab(5).  They come from sysfs and from the links.
 *
 * Without udev, the filesystem itself tells its label, and libblkid reads the table of its partition.
 *
 * Thread: any.
 */

/*
 * Add "/dev/sda1", "/dev/disk/by-label/pool", "LABEL=pool", "PARTUUID=…" and so on of @filesystem to @names.  No device
 * is opened.  A copy is named by its UUID and label in the superblock only if the original is not mounted.
 *
 * @links are those of /dev.  NULL: they are read for this filesystem.
 */
void device_names_add(const MountedFilesystem *filesystem, DeviceLinks *links, GStrvBuilder *names);

/*
 * The tags of @filesystem, with a mount at @target, that links of udev need not tell; NULL-terminated, to be freed.
 * May hang: the filesystem is opened, and its devices too if they are partitions without links.  The service has no
 * right to open devices.
 */
char **device_tags_read(const MountedFilesystem *filesystem, const char *target);

/* Decode a name as udev writes it in links and values: "\x20" is a blank. */
char *device_name_decode(const char *name);

/* Whether @name is of a kind that device_names_add() gives. */
bool device_names_may_have(const char *name);
