/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * FsLocation - what the kernel says of where a filesystem lies: of a btrfs its UUID in sysfs, whose devices
 * /sys/fs/btrfs lists, of others the number of their device.
 *
 * A filesystem without a block device (tmpfs, FUSE, NFS, overlay) has a number whose major is 0.
 *
 * Thread: any.
 */
typedef struct {
	bool is_btrfs;
	uint8_t fsid[FS_UUID_BYTES]; /* of a btrfs */
	unsigned major;              /* of others */
	unsigned minor;
} FsLocation;

/* Of the filesystem that @fd, any file or directory, lies on. */
bool fs_location_read(int fd, FsLocation *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Where that lies which @path names: a file or directory, which is opened for reading, or a block
 * device, which is not.
 */
bool fs_location_of_path(const char *path, FsLocation *ret);
