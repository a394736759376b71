/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-node.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsBlocks - the nodes of btrfs's trees, read from the devices of a mounted filesystem.
 *
 * BTRFS_IOC_TREE_SEARCH_V2 returns items but not the blocks that hold them, so it cannot tell which trees
 * share a block.  The chunk tree tells where the blocks are.  Devices are read without the page cache, which
 * may hold stale blocks.
 *
 * The disk holds the state of the last transaction, so sync first.  A block that a later transaction reused is
 * recognized by its header and checksum, which are compared with the pointer to it.
 *
 * Needs CAP_SYS_ADMIN, and read access to the devices.  Thread: any, one at a time.
 */
typedef struct BtrfsBlocks BtrfsBlocks;

/* @fd is any file or directory of the filesystem, and stays open. */
BtrfsBlocks *btrfs_blocks_open(int fd, GError **error);
void btrfs_blocks_close(BtrfsBlocks *blocks);

/*
 * Read the node at @bytenr that the transaction @generation wrote, from the first valid copy.  *@ret is valid
 * until the next call.  G_FILE_ERROR_AGAIN: no copy is valid; the block was reused or is damaged.
 */
bool btrfs_blocks_read(BtrfsBlocks *blocks, uint64_t bytenr, uint64_t generation, uint8_t level,
		       BtrfsNode *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsBlocks, btrfs_blocks_close)
