/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/call/fs-uuid.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * CopyUuid - tells filesystems apart that have the same UUID in their superblocks: a snapshot of a volume, a copied
 * disk or image.
 *
 * The kernel mounts such a copy beside the original in two cases:
 *
 * | filesystem | case | how it shows |
 * |---|---|---|
 * | XFS | the mount option nouuid | mountinfo (OwnOptions) |
 * | btrfs on one device, since Linux 6.7 | the UUID is mounted already; the kernel makes up another one | temp_fsid in sysfs |
 *
 * A copy gets a UUID that is made of the one in its superblock and a lasting name of its device.  That is the same
 * each time the copy is mounted like that, in whatever order.
 *
 * Thread: any.
 */

/*
 * Make such a UUID for the XFS filesystem on @device, with the UUID @superblock_uuid and its own
 * mount options @options.  @sysfs is "/sys".  False: it is no copy.
 */
bool copy_uuid_of_xfs(const char *sysfs, const char *options, dev_t device,
		      const uint8_t superblock_uuid[FS_UUID_BYTES], uint8_t ret[FS_UUID_BYTES]);

/* The same for a btrfs filesystem that the kernel knows by @fsid.  False: it is no copy. */
bool copy_uuid_of_btrfs(const char *sysfs, const uint8_t fsid[FS_UUID_BYTES],
			const uint8_t superblock_uuid[FS_UUID_BYTES], uint8_t ret[FS_UUID_BYTES]);
