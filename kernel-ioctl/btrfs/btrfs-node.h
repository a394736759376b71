/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsNode - an inner block of one of btrfs's trees, with pointers to other blocks, as it lies on the disk.
 *
 * Pure functions over the bytes of a block, which need not be aligned.
 *
 * Facts: struct btrfs_header and struct btrfs_key_ptr, fs/btrfs/accessors.h.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t bytenr;
	uint64_t generation; /* the transaction that wrote it */
	uint64_t owner;      /* the tree that it was made for; other trees may share it */
	uint8_t level;       /* at least 1 */
	uint32_t n_children; /* at least 1 */
	const uint8_t *children;
} BtrfsNode;

typedef struct {
	BtrfsKey key; /* the first key below it */
	uint64_t bytenr;
	uint64_t generation;
} BtrfsNodeChild;

/* The owner of tree blocks that relocation made (BTRFS_TREE_RELOC_OBJECTID). */
#define BTRFS_NODE_OWNER_RELOCATION ((uint64_t)-8)

/* The highest level of a node, plus 1 (BTRFS_MAX_LEVEL). */
#define BTRFS_NODE_LEVELS 8

/* False for a leaf, for a level that is too high, and for no children or more than the block can hold. */
bool btrfs_node_read(const uint8_t *block, uint32_t block_bytes, BtrfsNode *ret)
	G_GNUC_WARN_UNUSED_RESULT;

/* The child @index, below n_children. */
void btrfs_node_child(const BtrfsNode *node, uint32_t index, BtrfsNodeChild *ret);
