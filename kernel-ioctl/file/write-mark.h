/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * WriteMark - counters that change when a filesystem is written to.
 *
 * The mark is read from sysfs alone, so it opens nothing on the filesystem and wakes no sleeping disk.  Data
 * still in memory shows only after writeback, usually after half a minute.
 *
 * Facts: /sys/fs/btrfs/UUID/generation is the last committed transaction.  A btrfs filesystem's block devices
 * are listed in devices/ beside it; st_dev is the device of an XFS filesystem.  The seventh number of a
 * device's stat file counts written sectors of 512 bytes (Documentation/block/stat.rst), of a partition only
 * its own.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t generation; /* of btrfs; 0 on XFS, or if the kernel does not tell */
	/* Written to all devices since they appeared, with metadata and journal. */
	uint64_t written_bytes;
} WriteMark;

/*
 * Read the mark of a mounted filesystem.  @device is its superblock's, as in mountinfo, used on XFS.  @sysfs is
 * "/sys", except in tests.  False: the kernel does not tell, so treat the filesystem as changed.
 */
bool write_mark_read(const char *sysfs, const FsIdentity *identity, dev_t device, WriteMark *ret);
