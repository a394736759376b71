/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/fake-trees.h"

#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

#include <string.h>

#define BLOCK_BYTES 4096

static void put(uint8_t *at, uint64_t value)
{
	value = GUINT64_TO_LE(value);
	memcpy(at, &value, sizeof(value));
}

static void write_block(const FakeNode *node, uint8_t block[BLOCK_BYTES])
{
	uint8_t *at = block + 101;

	memset(block, 0, BLOCK_BYTES);
	put(block + 48, node->bytenr);
	put(block + 80, node->generation);
	put(block + 88, node->owner);
	block[96] = (uint8_t)node->n_children;
	block[100] = node->level;
	for (size_t i = 0; i < node->n_children; i++, at += 33) {
		put(at, node->children[i].key.objectid);
		at[8] = node->children[i].key.type;
		put(at + 9, node->children[i].key.offset);
		put(at + 17, node->children[i].bytenr);
		put(at + 25, node->children[i].generation);
	}
}

bool fake_trees_read(void *data, uint64_t bytenr, uint64_t generation, uint8_t level,
		     BtrfsNode *ret, GError **error)
{
	static uint8_t block[BLOCK_BYTES];
	FakeTrees *trees = data;

	trees->n_reads++;
	for (size_t i = 0; i < trees->n_nodes; i++) {
		const FakeNode *node = &trees->nodes[i];

		if (node->bytenr != bytenr || node->generation != generation ||
		    node->level != level)
			continue;
		write_block(node, block);
		g_assert_true(btrfs_node_read(block, sizeof(block), ret));
		return true;
	}

	g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_AGAIN, "it was reused");
	return false;
}

bool fake_trees_read_subvolumes(void *data, GArray **ret, GError **error)
{
	const FakeTrees *trees = data;

	(void)error;
	*ret = g_array_new(false, false, sizeof(BtrfsSubvolume));
	if (trees->n_now > 0)
		g_array_append_vals(*ret, trees->now, (guint)trees->n_now);
	return true;
}
