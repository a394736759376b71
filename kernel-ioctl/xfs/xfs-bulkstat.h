/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * XfsBulkstat - lists all inodes of an XFS filesystem in the order of their numbers, without names
 * (XFS_IOC_BULKSTAT of kernel 5.2; needs CAP_SYS_ADMIN and a mount without mapped ids).
 *
 * The kernel reads inodes from the inode tables and does not add them to the inode cache.  The list includes
 * inodes whose names are hidden by mounts, and deleted ones that are still open (nlink 0).  It does not include
 * the filesystem's own inodes (bitmaps, quotas).
 *
 * Written data that has no place on the disk yet shows in the times and the blocks, but not in the size.  Since
 * kernel 6.13, statx(2) makes a later change get another ctime; this ioctl does not.  A file may therefore change
 * unseen within one tick of the clock.
 *
 * Thread: any, one at a time.
 */
typedef struct XfsBulkstat XfsBulkstat;

typedef struct {
	uint64_t inode;
	uint64_t size_bytes;
	uint64_t blocks; /* of the filesystem; with delayed allocations, attributes, trees */
	uint64_t extents;
	int64_t btime_nsec; /* times as those of FileStat */
	int64_t mtime_nsec;
	int64_t ctime_nsec;
	uint32_t generation;
	uint32_t uid;
	uint32_t project;
	uint32_t nlink;
	mode_t mode;
	bool is_immutable;
	bool is_realtime;
	bool is_plain; /* not immutable, append-only, realtime or DAX */
} XfsInode;

#define XFS_EVERY_GROUP UINT32_MAX

/* 0 if the kernel lists inodes for this process through @fd, else a positive errno value. */
int xfs_bulkstat_try(int fd);

/* Read one inode.  False if no inode has this number, or it cannot be read. */
bool xfs_inode_read(int fd, uint64_t inode, XfsInode *ret) G_GNUC_WARN_UNUSED_RESULT;

/*
 * List the inodes from @first_inode on of the allocation group @group, or of all groups (XFS_EVERY_GROUP); 0
 * is the first inode.  @fd is any file or directory of the filesystem, and borrowed.
 */
XfsBulkstat *xfs_bulkstat_new(int fd, uint32_t group, uint64_t first_inode);
void xfs_bulkstat_free(XfsBulkstat *bulkstat);

/*
 * Ask the kernel for @n_inodes at a time, instead of the 1024 that are fastest.  The kernel reads the blocks
 * that hold them, and about as much ahead.
 */
void xfs_bulkstat_ask_for(XfsBulkstat *bulkstat, uint32_t n_inodes);

/* The next inode, valid until the next call, or NULL at the end. */
bool xfs_bulkstat_next(XfsBulkstat *bulkstat, const XfsInode **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(XfsBulkstat, xfs_bulkstat_free)
