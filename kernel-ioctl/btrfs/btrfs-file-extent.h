/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsFileExtent - the facts about one extent of a file that FIEMAP does not report.  They are the
 * size of a compressed extent on the disk, the part of it that the file references, and its
 * address.
 *
 * The source is EXTENT_DATA items (BTRFS_IOC_TREE_SEARCH_V2, needs CAP_SYS_ADMIN), which need no open file.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t logical;    /* byte in the file where the item begins */
	uint64_t disk_bytes; /* size of the extent on the disk */
	uint64_t ram_bytes;  /* size of the whole extent, uncompressed */
	uint64_t offset;     /* position of the item in those bytes */
	uint64_t length;     /* bytes of the file that the item maps */
	uint64_t bytenr;     /* start of the extent in btrfs's address space; 0: none */
	uint64_t generation; /* see BtrfsFileExtentItem */
	uint64_t transid;    /* the transaction that last wrote the item's leaf */
	BtrfsFileExtentKind kind;
	bool is_encoded; /* the blocks on the disk are not those of the file */
} BtrfsFileExtent;

/*
 * The extent that holds byte @position of the file @fd, with inode number @inode.  An inline extent, a hole, or
 * no extent is an error.
 */
bool btrfs_file_extent_read(int fd, uint64_t inode, uint64_t position, BtrfsFileExtent *ret,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Parse an EXTENT_DATA item. */
bool btrfs_file_extent_take(const BtrfsTreeItem *item, BtrfsFileExtent *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * BtrfsFileExtents - iterates over the extents of one file in its subvolume's tree.
 *
 * It can be started again for any number of files, one after another.
 *
 * Thread: any, one at a time.
 */
typedef struct BtrfsFileExtents BtrfsFileExtents;

BtrfsFileExtents *btrfs_file_extents_new(void);
void btrfs_file_extents_free(BtrfsFileExtents *extents);

/*
 * Begin with the items of the file @inode in the subvolume @root (0: the one of @fd) on @fd's filesystem that
 * touch [@offset, @offset + @length).
 */
void btrfs_file_extents_start(BtrfsFileExtents *extents, int fd, uint64_t root, uint64_t inode,
			      uint64_t offset, uint64_t length);

/*
 * The next item, of any kind, in file order and not clipped to the range; NULL at the end.
 * Valid until the next call.  A hole has an item only in filesystems made without "no-holes".
 * A missing file has no items; a missing subvolume is G_FILE_ERROR_NOENT.
 */
bool btrfs_file_extents_next(BtrfsFileExtents *extents, const BtrfsFileExtent **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Like btrfs_file_extents_next(), but a file in a missing subvolume has no items. */
bool btrfs_file_extents_next_if_any(BtrfsFileExtents *extents, const BtrfsFileExtent **ret,
				    GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsFileExtents, btrfs_file_extents_free)
