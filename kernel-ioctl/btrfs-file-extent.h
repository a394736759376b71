/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What btrfs knows of one extent of a file that FIEMAP does not tell: how much a compressed extent
 * takes on the disk, and which part of it the file shows.
 *
 * From the EXTENT_DATA item (BTRFS_IOC_TREE_SEARCH_V2, needs CAP_SYS_ADMIN).
 *
 * Thread: any.
 */
typedef struct {
	uint64_t logical;    /* byte in the file where the item begins */
	uint64_t disk_bytes; /* what the extent takes on the disk */
	uint64_t ram_bytes;  /* what all of it holds, uncompressed */
	uint64_t offset;     /* where in those bytes the item begins */
	uint64_t length;     /* bytes of the file that the item shows */
} BtrfsFileExtent;

/* The extent that holds byte @position of the file @fd, with inode number @inode. */
bool btrfs_file_extent_read(int fd, uint64_t inode, uint64_t position, BtrfsFileExtent *ret,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;
