/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-node.h"

#include <string.h>

/*
 * Offsets of fields in a block's header, and its length.  <linux/btrfs_tree.h> has the header only since Linux
 * 6.2.
 */
#define HEADER_BYTENR     48
#define HEADER_GENERATION 80
#define HEADER_OWNER      88
#define HEADER_ITEMS      96
#define HEADER_LEVEL      100
#define HEADER_BYTES      101

/* Offsets of fields in a pointer to a child, behind its key, and its length. */
#define CHILD_BYTENR     17
#define CHILD_GENERATION 25
#define CHILD_BYTES      33

G_STATIC_ASSERT(sizeof(struct btrfs_disk_key) == CHILD_BYTENR);

static uint64_t read_64(const uint8_t *data)
{
	uint64_t value;

	memcpy(&value, data, sizeof(value));
	return GUINT64_FROM_LE(value);
}

static uint32_t read_32(const uint8_t *data)
{
	uint32_t value;

	memcpy(&value, data, sizeof(value));
	return GUINT32_FROM_LE(value);
}

bool btrfs_node_read(const uint8_t *block, uint32_t block_bytes, BtrfsNode *ret)
{
	if (block_bytes < HEADER_BYTES)
		return false;

	*ret = (BtrfsNode){
		.bytenr = read_64(block + HEADER_BYTENR),
		.generation = read_64(block + HEADER_GENERATION),
		.owner = read_64(block + HEADER_OWNER),
		.level = block[HEADER_LEVEL],
		.n_children = read_32(block + HEADER_ITEMS),
		.children = block + HEADER_BYTES,
	};
	return ret->level > 0 && ret->level < BTRFS_NODE_LEVELS && ret->n_children > 0 &&
	       ret->n_children <= (block_bytes - HEADER_BYTES) / CHILD_BYTES;
}

void btrfs_node_child(const BtrfsNode *node, uint32_t index, BtrfsNodeChild *ret)
{
	const uint8_t *child = node->children + (size_t)index * CHILD_BYTES;
	struct btrfs_disk_key key;

	memcpy(&key, child, sizeof(key));
	*ret = (BtrfsNodeChild){
		.key = { GUINT64_FROM_LE(key.objectid), key.type, GUINT64_FROM_LE(key.offset) },
		.bytenr = read_64(child + CHILD_BYTENR),
		.generation = read_64(child + CHILD_GENERATION),
	};
}
