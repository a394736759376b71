/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/mounts/mount-table.h"

/*
 * RemovableDisk - whether a filesystem comes and goes with a disk that somebody carries about, so that
 * another one may be mounted on its mount point tomorrow.
 *
 * Thread: any.
 */

/* Whether any disk of the filesystem can be taken out, as far as the kernel knows. */
bool mounted_filesystem_is_removable(const MountedFilesystem *filesystem);
