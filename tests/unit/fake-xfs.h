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
 * A kernel that knows one XFS, as a list of inodes: ioctl() of a program that is linked with this is
 * its one.  It answers as fs/xfs/xfs_itable.c of Linux 6.18 does.
 */
typedef struct {
	/* What it knows; inodes in the order of their numbers, GROUP_INODES of them to a group. */
	const XfsAbiInode *inodes;
	size_t n_inodes;
	XfsAbiGeometry geometry;
	uint32_t n_most; /* that it gives at once, of names bytes; 0: as many as are wanted */
	const struct fsmap *extents; /* in the order in which it gives them */
	size_t n_extents;
	const FakeXfsName *names;
	size_t n_names;
	uint64_t top; /* which has no name */

	/* How it misbehaves. */
	int error;
	size_t n_before_error; /* inodes that it gives before that */
	bool is_old;           /* it knows no flag of wide counts */
	bool repeats_itself;   /* says to go on where one was */
	bool gives_too_many;
	bool marks_no_end;     /* of the extents, or names */
	int record_bytes_more; /* each record of a name says that it has */

	/* What it was asked. */
	unsigned n_calls;
	uint32_t last_flags;
} FakeXfs;

#define FAKE_XFS_FD           1001
#define FAKE_XFS_GROUP_INODES 1000

/* The one there is.  A test sets it up anew. */
FakeXfs *fake_xfs(void);
