/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"

#include <sys/types.h>

/*
 * MountInstance - a name for the time between mounting and unmounting a filesystem.
 *
 * Nobody can set a mounted filesystem back to an older state.  The kernel makes a directory in
 * sysfs when it mounts a btrfs (fs/btrfs/UUID) or XFS (fs/xfs/DEVICE) filesystem, and removes it on
 * unmount.  Inode numbers of kernfs rise, so each mount of one boot has another one.  The boot id
 * tells boots apart.
 *
 * Thread: any.
 */

/*
 * The name, to be freed; NULL: the kernel does not tell.
 *
 * @boot is the boot id, with or without hyphens.  NULL: it is read from @procfs, which a sandbox may
 * hide.  @device is st_dev, used on XFS.  @sysfs and @procfs are "/sys" and "/proc", except in tests.
 */
char *mount_instance_read(const char *sysfs, const char *procfs, const char *boot,
			  const FsIdentity *identity, dev_t device);
