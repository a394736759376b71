/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsItemWindows - a cache of items of inodes and of their extents, read together with the items behind
 * them.
 *
 * Files that were written one after another have neighbouring items, in their subvolume and in each snapshot
 * of it.  One search returns those of dozens of small files; searches for single items would take two per file.
 * A window is short until a search follows it, so files that are not visited in order cost little more.
 *
 * A window is read anew after a second.  Call btrfs_item_windows_clear() when this process has changed a file.
 *
 * Memory: 16 KiB and the keys for each of at most 256 windows.  Thread: any, one at a time.
 */
typedef struct BtrfsItemWindows BtrfsItemWindows;

/* @fd is any directory of the filesystem, and stays open. */
BtrfsItemWindows *btrfs_item_windows_new(int fd);
void btrfs_item_windows_free(BtrfsItemWindows *windows);

void btrfs_item_windows_clear(BtrfsItemWindows *windows);

/*
 * Find the item with exactly @key, an INODE_ITEM or EXTENT_DATA, in the subvolume @root.  *ret is
 * valid until the next call.  *ret_found is false if there is none, or if it lies too far behind
 * the inode.  Only another search can tell which.  A subvolume that does not exist is
 * G_FILE_ERROR_NOENT.
 */
bool btrfs_item_windows_find(BtrfsItemWindows *windows, uint64_t root, const BtrfsKey *key,
			     BtrfsTreeItem *ret, bool *ret_found, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsItemWindows, btrfs_item_windows_free)
