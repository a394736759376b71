/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"

#include <sys/types.h>

/*
 * MountInstance - a name for the time from one mounting of a filesystem to its unmounting.
 *
 * While a filesystem stays mounted, nobody can set it back to an older state.  The kernel makes a
 * directory in sysfs when it mounts a btrfs (fs/btrfs/UUID) or an XFS (fs/xfs/DEVICE), and removes it
 * afterwards.  kernfs gives out inode numbers in turn, so the number differs for each mounting of one boot.
 * The id of the boot tells boots apart.
 *
 * Thread: any.
 */

/*
 * The name, to be freed; NULL: the kernel does not say.  @boot is the id of the boot, with or without hyphens;
 * NULL: it is read from @procfs, of which a sandbox may show too little.  @device is st_dev, used on XFS.  @sysfs and @procfs
 * are "/sys" and "/proc", or where a test has its own.
 */
char *mount_instance_read(const char *sysfs, const char *procfs, const char *boot,
			  const FsIdentity *identity, dev_t device);
