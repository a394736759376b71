/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * FileStat - the fields of statx(2) that dedupd needs.
 *
 * Times are nanoseconds since 1970 and may be negative.  A time that 64 bits cannot hold (after the
 * year 2262, which any owner can set as mtime) becomes the nearest one that they can.  The field
 * btime stands for the generation until the file is opened.  Both filesystems keep it, and set it
 * anew when an inode number is reused.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t inode;
	uint64_t mount_id; /* STATX_MNT_ID; 0: the kernel does not tell */
	uint64_t size_bytes;
	uint64_t allocated_bytes; /* st_blocks: shared blocks count in each file */
	int64_t btime_nsec;
	int64_t mtime_nsec;
	int64_t ctime_nsec;
	uint32_t device_major; /* of the filesystem; on btrfs of the subvolume */
	uint32_t device_minor;
	uint32_t nlink;
	uint32_t uid;
	mode_t mode;
	bool is_immutable;
	bool is_mount_root; /* STATX_ATTR_MOUNT_ROOT */
} FileStat;

/*
 * Stat @name in the directory @dir_fd, without following a symlink or triggering an automount.  An empty @name
 * means the descriptor itself.  Returns 0 or a positive errno value.
 */
int file_stat_at(int dir_fd, const char *name, FileStat *ret);
