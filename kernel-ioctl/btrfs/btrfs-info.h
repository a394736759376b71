/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-checksum.h"
#include "kernel-ioctl/call/fs-uuid.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsInfo - how a btrfs is built and how far it has got (BTRFS_IOC_FS_INFO, which works for
 * ordinary users).
 *
 * Checksums and generation are asked for by flags that Linux 5.10 knows; an older kernel is an
 * error.
 *
 * Thread: any.
 */
typedef struct {
	uint8_t uuid[FS_UUID_BYTES];
	BtrfsChecksum checksum;
	uint32_t sum_bytes; /* of one checksum, 1 to BTRFS_SUM_BYTES_MAX; also of an unknown kind */
	uint32_t sector_bytes; /* what one checksum covers */
	uint32_t node_bytes;   /* of a block of a tree */
	/*
	 * The transaction that is running, or the last one where none is: the least min_transid that
	 * misses nothing that is changed from now on.
	 */
	uint64_t generation;
} BtrfsInfo;

/* @fd is any file or directory of the filesystem. */
bool btrfs_info_read(int fd, BtrfsInfo *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Whether simple quotas are on, which charge data to the subvolume that it was written in
 * (/sys/fs/btrfs/UUID/qgroups/mode, since Linux 6.7).
 */
bool btrfs_has_simple_quotas(const uint8_t uuid[FS_UUID_BYTES]);

/*
 * What is going on that excludes others of its kind, in the kernel's words, to be freed: "balance",
 * "balance paused", "device remove", "device replace", "resize" and so on.  NULL if nothing is, or
 * if the kernel does not say (/sys/fs/btrfs/UUID/exclusive_operation, since Linux 5.10).  A scrub
 * is not among them.
 */
char *btrfs_exclusive_operation(const uint8_t uuid[FS_UUID_BYTES]);
