/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-checksum.h"
#include "kernel-ioctl/call/fs-uuid.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsInfo - format and generation of a btrfs filesystem (BTRFS_IOC_FS_INFO, which works for ordinary
 * users).
 *
 * Checksums and generation need flags of Linux 5.10; an older kernel is an error.
 *
 * Thread: any.
 */
typedef struct {
	uint8_t uuid[FS_UUID_BYTES];
	BtrfsChecksum checksum;
	uint32_t sum_bytes; /* of one checksum, 1 to BTRFS_SUM_BYTES_MAX; also of an unknown kind */
	uint32_t sector_bytes; /* covered by one checksum */
	uint32_t node_bytes;   /* of a tree block */
	/*
	 * The running transaction, or the last one if none runs.  As min_transid it finds all later changes.
	 */
	uint64_t generation;
} BtrfsInfo;

/* @fd is any file or directory of the filesystem. */
bool btrfs_info_read(int fd, BtrfsInfo *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * True if simple quotas are on (/sys/fs/btrfs/UUID/qgroups/mode, since Linux 6.7).  They charge data to the
 * subvolume that wrote it.
 */
bool btrfs_has_simple_quotas(const uint8_t uuid[FS_UUID_BYTES]);

/*
 * True if a scrub runs on any device of a btrfs filesystem, or a replacement, which scrubs too
 * (BTRFS_IOC_SCRUB_PROGRESS, needs CAP_SYS_ADMIN).
 *
 * @fd is any file or directory of the filesystem.  False if the kernel does not tell.
 */
bool btrfs_is_being_scrubbed(int fd);
