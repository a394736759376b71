/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsSpace - what of a btrfs is in use, and what its trees may still grow by.
 *
 * BTRFS_IOC_SPACE_INFO, BTRFS_IOC_FS_INFO and BTRFS_IOC_DEV_INFO, which work for ordinary users.
 * The kernel's figures move when a transaction commits, some of them earlier.
 *
 * All bytes are counted once, however many copies the profile keeps.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t data_used_bytes; /* in data block groups, and in mixed ones */
	uint64_t metadata_used_bytes;
	uint64_t metadata_total_bytes; /* of block groups that are there */
	/* Of these so much is kept for what must not fail, as deleting is. */
	uint64_t metadata_kept_bytes;
	/* That the profile keeps of each byte; at least 1. */
	uint32_t data_copies;
	uint32_t metadata_copies;
	uint64_t unallocated_bytes;  /* of all devices: no block group has them yet */
	uint64_t device_total_bytes; /* of all devices */
} BtrfsSpace;

/* @fd is any file or directory of the filesystem. */
bool btrfs_space_read(int fd, BtrfsSpace *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * By how much metadata grew, with all copies, in bytes of data: so much less data fits.  That is how df(1)
 * counts, too.
 */
int64_t btrfs_space_metadata_growth(const BtrfsSpace *before, const BtrfsSpace *after);

/* What the trees may still grow by, block groups included that could be made for them. */
uint64_t btrfs_space_metadata_room(const BtrfsSpace *space);
