/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsSpace - the space of a btrfs filesystem: how much is in use, and how far its trees can grow.
 *
 * The sources are BTRFS_IOC_SPACE_INFO, BTRFS_IOC_FS_INFO and BTRFS_IOC_DEV_INFO, which work for ordinary
 * users.  Most figures of the kernel change when a transaction commits, some earlier.
 *
 * All bytes are counted once, however many copies the profile keeps.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t data_used_bytes; /* in data block groups, and in mixed ones */
	uint64_t metadata_used_bytes;
	uint64_t metadata_total_bytes; /* of existing block groups */
	/* The global reserve: metadata space for operations that must not fail, such as deletion. */
	uint64_t metadata_kept_bytes;
	/* Copies of each byte that the profile keeps; at least 1. */
	uint32_t data_copies;
	uint32_t metadata_copies;
	uint64_t unallocated_bytes;  /* of all devices: not in a block group yet */
	uint64_t device_total_bytes; /* of all devices */
} BtrfsSpace;

/* @fd is any file or directory of the filesystem. */
bool btrfs_space_read(int fd, BtrfsSpace *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The growth of metadata, with all copies, in bytes of data: this much less data fits.  df(1) counts like
 * that, too.
 */
int64_t btrfs_space_metadata_growth(const BtrfsSpace *before, const BtrfsSpace *after);

/* How far the trees can grow, including block groups that could be made for them. */
uint64_t btrfs_space_metadata_room(const BtrfsSpace *space);
