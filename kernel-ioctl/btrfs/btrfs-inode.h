/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-items.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Read the inode @inode of the subvolume @root (0: the one of @fd) on @fd's filesystem, without opening it
 * (BTRFS_IOC_TREE_SEARCH_V2, needs CAP_SYS_ADMIN).  Its generation serves open_file_by_id().  A missing inode
 * or subvolume is no error: *ret_found is false.
 *
 * Thread: any.
 */
bool btrfs_inode_read(int fd, uint64_t root, uint64_t inode, BtrfsInodeItem *ret, bool *ret_found,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;
