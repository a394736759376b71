/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What btrfs knows of one extent of a file that FIEMAP does not tell: how much a compressed extent
 * takes on the disk, which part of it the file shows, and where the whole of it lies.
 *
 * From EXTENT_DATA items (BTRFS_IOC_TREE_SEARCH_V2, needs CAP_SYS_ADMIN), which need no open file.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t logical;    /* byte in the file where the item begins */
	uint64_t disk_bytes; /* what the extent takes on the disk */
	uint64_t ram_bytes;  /* what all of it holds, uncompressed */
	uint64_t offset;     /* where in those bytes the item begins */
	uint64_t length;     /* bytes of the file that the item shows */
	uint64_t bytenr;     /* where the extent begins in btrfs's address space; 0: nowhere */
	uint64_t generation; /* see BtrfsFileExtentItem */
	uint64_t transid;    /* the one that last wrote the leaf that the item is in */
	BtrfsFileExtentKind kind;
	bool is_encoded; /* the blocks on the disk are not those of the file */
} BtrfsFileExtent;

/*
 * The extent that holds byte @position of the file @fd, with inode number @inode.  One that is
 * inline, or a hole, is an error as none at all is.
 */
bool btrfs_file_extent_read(int fd, uint64_t inode, uint64_t position, BtrfsFileExtent *ret,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* What the EXTENT_DATA item tells. */
bool btrfs_file_extent_take(const BtrfsTreeItem *item, BtrfsFileExtent *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * BtrfsFileExtents - the extents of one file, as they are in its subvolume's tree.
 *
 * One serves any number of files, one after another.
 *
 * Thread: any, one at a time.
 */
typedef struct BtrfsFileExtents BtrfsFileExtents;

BtrfsFileExtents *btrfs_file_extents_new(void);
void btrfs_file_extents_free(BtrfsFileExtents *extents);

/*
 * Begin with the items of the file @inode in the subvolume @root (0: the one that @fd lies in) of
 * @fd's filesystem that touch [@offset, @offset + @length).
 */
void btrfs_file_extents_start(BtrfsFileExtents *extents, int fd, uint64_t root, uint64_t inode,
			      uint64_t offset, uint64_t length);

/*
 * The next item, of whatever kind, in file order and not clipped to the range; NULL at the end.
 * Valid until the next call.  A hole has an item only in filesystems made without "no-holes".
 * A file that is not there has no items; a subvolume that is not is G_FILE_ERROR_NOENT.
 */
bool btrfs_file_extents_next(BtrfsFileExtents *extents, const BtrfsFileExtent **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The same; a file in a subvolume that is not there has no items. */
bool btrfs_file_extents_next_if_any(BtrfsFileExtents *extents, const BtrfsFileExtent **ret,
				    GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsFileExtents, btrfs_file_extents_free)
