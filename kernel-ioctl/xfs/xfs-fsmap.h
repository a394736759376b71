/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * XfsFsmap - lists the extents of an XFS filesystem and their files, in the order of the disk (FS_IOC_GETFSMAP).
 * The kernel reports files only with CAP_SYS_ADMIN, and only if the filesystem was made with rmapbt.
 *
 * An extent that several files share is listed once for each.  The list does not include data that is not written
 * out yet, attributes, the filesystem's own blocks, or a real-time section.
 *
 * Thread: any, one at a time.
 */
typedef struct XfsFsmap XfsFsmap;

/* All in bytes. */
typedef struct {
	uint64_t physical;
	uint64_t length;
	uint64_t inode;
	uint64_t offset; /* in the file */
	bool is_unwritten;
} XfsOwnedExtent;

/* @fd is any file or directory of the filesystem, and borrowed. */
XfsFsmap *xfs_fsmap_new(int fd);
void xfs_fsmap_free(XfsFsmap *fsmap);

/*
 * Before the first extent: list only extents that overlap the bytes @begin to @end, which are whole blocks.
 */
void xfs_fsmap_restrict(XfsFsmap *fsmap, uint64_t begin, uint64_t end);

/* The next extent, valid until the next call, or NULL at the end. */
bool xfs_fsmap_next(XfsFsmap *fsmap, const XfsOwnedExtent **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(XfsFsmap, xfs_fsmap_free)
