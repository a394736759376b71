/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/mounts/mount-table.h"

/*
 * RemovableDisk - whether a filesystem is on a removable disk: another one may be mounted at its mount point
 * tomorrow.
 *
 * Thread: any.
 */

/* True if any disk of the filesystem is removable, as far as the kernel knows. */
bool mounted_filesystem_is_removable(const MountedFilesystem *filesystem);
