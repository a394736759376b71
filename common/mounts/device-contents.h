/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * DeviceContents - what an unmounted block device, or an image of one, holds.  The signatures on it
 * tell that to libblkid.  A btrfs or XFS superblock adds the fields that matter to dedupd.
 *
 * The bytes may be anybody's: nothing is believed but for words to a user.  Fields of the superblock: the btrfs wiki's
 * "On-disk Format", and "XFS Algorithms & Data Structures".
 *
 * Thread: any.  May hang, as it reads the disk.
 */
typedef struct {
	/* As libblkid names them, to be freed. */
	char *type;                /* "btrfs", "xfs", "ext4", "crypto_LUKS"; NULL: none known */
	char *uuid;                /* NULL: none */
	char *label;               /* NULL: none */
	char *partitions;          /* "gpt", "dos"; NULL: no table of partitions */
	uint64_t size_bytes;       /* of the device or image */
	uint64_t misaligned_bytes; /* from its beginning to the next physical block of the disk */

	/* For btrfs and XFS only. */
	uint64_t filesystem_bytes; /* that the filesystem takes of the device */
	uint32_t block_bytes;
	uint64_t n_devices; /* of the filesystem */
	bool can_share;     /* false: XFS without reflink=1 */
} DeviceContents;

/*
 * The errors name @path: it cannot be opened or read, it is no device or regular file, or it has signatures of several
 * filesystems.
 */
bool device_contents_read(const char *path, DeviceContents *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void device_contents_clear(DeviceContents *contents);

/* True if dedupd supports the kind. */
bool device_contents_are_supported(const DeviceContents *contents);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DeviceContents, device_contents_clear)
