/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * WriteMark - by what can be told, without touching it, that a filesystem was written to.
 *
 * From sysfs alone: nothing is opened on the filesystem, and no disk that sleeps is woken.  What
 * is still in memory does not show; it does once it is written out, which takes half a minute.
 *
 * Facts: /sys/fs/btrfs/UUID/generation is the last committed transaction; the block devices of a
 * btrfs are listed in devices/ beside it, that of an XFS is what st_dev says.  The seventh number
 * of a device's stat file counts written sectors of 512 bytes (Documentation/block/stat.rst), for
 * a partition its own.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t generation; /* of a btrfs; 0 on XFS, or if the kernel does not say */
	uint64_t
		written_bytes; /* to all its devices, metadata and journal included, since they were there */
} WriteMark;

/*
 * Read the mark of a mounted filesystem.  @device is its superblock's as mountinfo has it, used on
 * XFS; @sysfs is "/sys", or where a test has its own.  False: the kernel does not say, so that it
 * has to be taken as changed.
 */
bool write_mark_read(const char *sysfs, const FsIdentity *identity, dev_t device, WriteMark *ret);
