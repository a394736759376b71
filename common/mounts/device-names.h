/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/mounts/mount-table.h"

/*
 * DeviceNames - the names by which other programs know what a filesystem lies on: devices, the links to them that udev
 * makes, and tags as in fstab(5).  They come from sysfs and from the links alone: no device is opened.
 *
 * Thread: any.
 */

/* Add "/dev/sda1", "/dev/disk/by-label/pool", "LABEL=pool", "PARTUUID=…" and so on of @filesystem to @names. */
void device_names_add(const MountedFilesystem *filesystem, GStrvBuilder *names);

/* Whether @name is of a kind that device_names_add() gives. */
bool device_names_may_have(const char *name);
