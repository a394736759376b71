/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * XfsParents - the names of one file of an XFS filesystem, from its parent pointers
 * (XFS_IOC_GETPARENTS_BY_HANDLE of kernel 6.10; mkfs must have enabled them; needs CAP_SYS_ADMIN).
 *
 * The kernel reads no directory: each inode keeps its names and their directories in its extended attributes.
 * The order of hard links has no meaning.  The top directory has no name.
 *
 * Thread: any, one at a time.
 */
typedef struct XfsParents XfsParents;

typedef struct {
	uint64_t parent; /* inode of the directory */
	uint32_t parent_generation;
	const char *name; /* any bytes but '/' and NUL; valid until the next call */
} XfsParent;

typedef enum {
	XFS_PARENTS_NEXT, /* a name */
	XFS_PARENTS_END,  /* there are no more */
	XFS_PARENTS_GONE, /* the file is gone or cannot be read */
} XfsParentsOutcome;

/* 0 if this process can read the file's parent pointers, else a positive errno value. */
int xfs_parents_try(int fd, uint64_t inode, uint32_t generation);

/* @fd is a directory of the filesystem, and borrowed. */
XfsParents *xfs_parents_new(int fd);
void xfs_parents_free(XfsParents *parents);

/* Continue with the names of this inode. */
void xfs_parents_begin(XfsParents *parents, uint64_t inode, uint32_t generation);

/* *ret is set on XFS_PARENTS_NEXT only. */
XfsParentsOutcome xfs_parents_next(XfsParents *parents, XfsParent *ret);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(XfsParents, xfs_parents_free)
