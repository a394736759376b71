/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/xfs/xfs-abi.h"

#include <linux/fsmap.h>
#include <stdbool.h>
#include <stddef.h>

/* A name of an inode. */
typedef struct {
	uint64_t inode;
	uint64_t parent;
	const char *name;
} FakeXfsName;

/*
 * FakeXfs - a kernel that knows one XFS filesystem, as a list of inodes.  It is the ioctl() of a program that
 * links it, and answers like fs/xfs/xfs_itable.c of Linux 6.18.
 */
typedef struct {
	/* Its data; inodes are ordered by number, GROUP_INODES per group. */
	const XfsAbiInode *inodes;
	size_t n_inodes;
	XfsAbiGeometry geometry;
	uint32_t n_most; /* the most it returns at once, for names in bytes; 0: all requested */
	const struct fsmap *extents; /* in the order of its answers */
	size_t n_extents;
	const FakeXfsName *names;
	size_t n_names;
	uint64_t top; /* the top directory, which has no name */

	/* Its misbehaviour. */
	int error;
	size_t n_before_error; /* inodes returned before the error */
	bool is_old;           /* it does not know the flag of wide counts */
	bool repeats_itself;   /* tells to continue at the begin */
	bool gives_too_many;
	bool marks_no_end;     /* of the extents, or names */
	int record_bytes_more; /* added to the size in each record of a name */

	/* The requests it got. */
	unsigned n_calls;
	uint32_t last_flags;
} FakeXfs;

#define FAKE_XFS_FD           1001
#define FAKE_XFS_GROUP_INODES 1000

/* The only instance, which each test sets up anew. */
FakeXfs *fake_xfs(void);
