/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * FsLocation - where a filesystem lies.  The UUID of a btrfs filesystem leads to its devices in /sys/fs/btrfs.
 * Other filesystems have a device number.
 *
 * A filesystem without a block device (tmpfs, FUSE, NFS, overlay) has a number whose major is 0.
 *
 * Thread: any.
 */
typedef struct {
	bool is_btrfs;
	uint8_t fsid[FS_UUID_BYTES]; /* if is_btrfs */
	unsigned major;              /* else */
	unsigned minor;
} FsLocation;

/* The location of the filesystem of @fd, any file or directory. */
bool fs_location_read(int fd, FsLocation *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The location of a file or directory, which is opened for reading, or of a block device, which is not
 * opened.
 */
bool fs_location_of_path(const char *path, FsLocation *ret);
