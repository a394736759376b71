/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * XfsGeometry - how an XFS filesystem was made (XFS_IOC_FSGEOMETRY, which works for ordinary users).
 *
 * Thread: any.
 */
typedef struct {
	uint8_t uuid[16];
	uint32_t block_bytes;
	uint32_t group_blocks; /* of an allocation group; the last one may be shorter */
	uint32_t n_groups;
	bool has_reflink;
	bool has_rmapbt;   /* FS_IOC_GETFSMAP knows the owner of each block */
	bool has_realtime; /* a separate section for data */
	bool has_parents;  /* inodes have parent pointers (XFS_IOC_GETPARENTS, kernel 6.10) */
} XfsGeometry;

/* @fd is any file or directory of the filesystem. */
bool xfs_geometry_read(int fd, XfsGeometry *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;
