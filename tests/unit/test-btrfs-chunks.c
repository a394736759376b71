/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-chunks.h"
#include "kernel-ioctl/btrfs/btrfs-node.h"

#include <glib.h>
#include <linux/btrfs_tree.h>
#include <stddef.h>
#include <string.h>

#define KIB         UINT64_C(1024)
#define MIB         (KIB * 1024)
#define STRIPE      (64 * KIB)
#define STRIPES_MAX 8
#define START       (100 * MIB)

/* A CHUNK_ITEM: the stripe i lies on the device i + 1 from (i + 1) MiB on. */
typedef struct {
	uint8_t bytes[offsetof(struct btrfs_chunk, stripe) +
		      STRIPES_MAX * sizeof(struct btrfs_stripe)];
	uint32_t length;
} Item;

static Item make_item(uint64_t profile, uint16_t n_stripes, uint16_t n_sub_stripes)
{
	const size_t head_bytes = offsetof(struct btrfs_chunk, stripe);
	const struct btrfs_chunk head = {
		.length = GUINT64_TO_LE(10 * MIB),
		.stripe_len = GUINT64_TO_LE(STRIPE),
		.type = GUINT64_TO_LE(BTRFS_BLOCK_GROUP_METADATA | profile),
		.num_stripes = GUINT16_TO_LE(n_stripes),
		.sub_stripes = GUINT16_TO_LE(n_sub_stripes),
	};
	Item item = { .length = (uint32_t)(head_bytes + n_stripes * sizeof(struct btrfs_stripe)) };

	memcpy(item.bytes, &head, head_bytes);
	for (uint64_t i = 0; i < n_stripes; i++) {
		const struct btrfs_stripe stripe = { .devid = GUINT64_TO_LE(i + 1),
						     .offset = GUINT64_TO_LE((i + 1) * MIB) };

		memcpy(item.bytes + head_bytes + i * sizeof(stripe), &stripe, sizeof(stripe));
	}
	return item;
}

static BtrfsChunks *chunks_of(const Item *item)
{
	BtrfsChunks *chunks = btrfs_chunks_new();

	g_assert_true(btrfs_chunks_add(chunks, START, item->bytes, item->length));
	return chunks;
}

/* By fs/btrfs/volumes.c: the stripe of the offset, and the position in it. */
static const struct {
	const char *name;
	uint64_t profile;
	uint16_t n_stripes;
	uint16_t n_sub_stripes;
	uint64_t offset;
	unsigned copy;
	uint64_t device;
	uint64_t within;
} places[] = {
	{ "single", 0, 1, 1, 3 * STRIPE + 8, 0, 1, 3 * STRIPE + 8 },
	{ "dup, second copy", BTRFS_BLOCK_GROUP_DUP, 2, 1, 5 * STRIPE, 1, 2, 5 * STRIPE },
	{ "raid1, first copy", BTRFS_BLOCK_GROUP_RAID1, 2, 1, MIB, 0, 1, MIB },
	{ "raid1c3, third copy", BTRFS_BLOCK_GROUP_RAID1C3, 3, 1, MIB, 2, 3, MIB },
	{ "raid0, first row", BTRFS_BLOCK_GROUP_RAID0, 3, 1, 2 * STRIPE + 8, 0, 3, 8 },
	{ "raid0, third row", BTRFS_BLOCK_GROUP_RAID0, 3, 1, 7 * STRIPE, 0, 2, 2 * STRIPE },
	{ "raid10, first copy", BTRFS_BLOCK_GROUP_RAID10, 4, 2, 3 * STRIPE + 8, 0, 3, STRIPE + 8 },
	{ "raid10, second copy", BTRFS_BLOCK_GROUP_RAID10, 4, 2, 3 * STRIPE, 1, 4, STRIPE },
	{ "raid5, first row", BTRFS_BLOCK_GROUP_RAID5, 3, 1, STRIPE, 0, 2, 0 },
	/* Parity was on the third device, and is on the first. */
	{ "raid5, second row", BTRFS_BLOCK_GROUP_RAID5, 3, 1, 2 * STRIPE, 0, 2, STRIPE },
	{ "raid5, second row, end", BTRFS_BLOCK_GROUP_RAID5, 3, 1, 3 * STRIPE, 0, 3, STRIPE },
	{ "raid5, third row, end", BTRFS_BLOCK_GROUP_RAID5, 3, 1, 5 * STRIPE, 0, 1, 2 * STRIPE },
	{ "raid6, second row", BTRFS_BLOCK_GROUP_RAID6, 4, 1, 2 * STRIPE, 0, 2, STRIPE },
};

static void test_each_profile_has_its_places(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		const Item item =
			make_item(places[i].profile, places[i].n_stripes, places[i].n_sub_stripes);
		g_autoptr(BtrfsChunks) chunks = chunks_of(&item);
		BtrfsDevicePlace place;

		g_test_message("%s", places[i].name);
		g_assert_true(btrfs_chunks_find(chunks, START + places[i].offset, 4096,
						places[i].copy, &place));
		g_assert_cmpuint(place.device, ==, places[i].device);
		g_assert_cmpuint(place.offset, ==, places[i].device * MIB + places[i].within);
	}
}

static void test_there_are_as_many_copies_as_the_profile_keeps(void)
{
	static const struct {
		uint64_t profile;
		uint16_t n_stripes;
		uint16_t n_sub_stripes;
		unsigned copies;
	} cases[] = {
		{ 0, 1, 1, 1 },
		{ BTRFS_BLOCK_GROUP_DUP, 2, 1, 2 },
		{ BTRFS_BLOCK_GROUP_RAID1C4, 4, 1, 4 },
		{ BTRFS_BLOCK_GROUP_RAID0, 4, 1, 1 },
		{ BTRFS_BLOCK_GROUP_RAID10, 4, 2, 2 },
		{ BTRFS_BLOCK_GROUP_RAID6, 4, 1, 1 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const Item item =
			make_item(cases[i].profile, cases[i].n_stripes, cases[i].n_sub_stripes);
		g_autoptr(BtrfsChunks) chunks = chunks_of(&item);
		BtrfsDevicePlace place;
		unsigned copies = 0;

		while (btrfs_chunks_find(chunks, START, 4096, copies, &place))
			copies++;
		g_assert_cmpuint(copies, ==, cases[i].copies);
	}
}

static void test_what_no_chunk_has_lies_nowhere(void)
{
	const Item item = make_item(BTRFS_BLOCK_GROUP_RAID0, 2, 1);
	g_autoptr(BtrfsChunks) chunks = chunks_of(&item);
	BtrfsDevicePlace place;

	g_assert_false(btrfs_chunks_find(chunks, START - 1, 1, 0, &place));
	g_assert_false(btrfs_chunks_find(chunks, START + 10 * MIB, 1, 0, &place));
	g_assert_false(btrfs_chunks_find(chunks, START + 10 * MIB - 4096, 8192, 0, &place));
	/* Across the bound of two devices. */
	g_assert_false(btrfs_chunks_find(chunks, START + STRIPE - 4096, 8192, 0, &place));
	g_assert_true(btrfs_chunks_find(chunks, START + STRIPE - 4096, 4096, 0, &place));
	g_assert_true(btrfs_chunks_find(chunks, START + 10 * MIB - 1, 1, 0, &place));
}

static void test_damaged_chunks_are_refused(void)
{
	const Item good = make_item(BTRFS_BLOCK_GROUP_RAID10, 4, 2);
	g_autoptr(BtrfsChunks) chunks = btrfs_chunks_new();

	for (uint32_t length = 0; length < good.length; length++) {
		g_autofree uint8_t *cut = g_memdup2(good.bytes, MAX(length, 1));

		g_assert_false(btrfs_chunks_add(chunks, START, cut, length));
	}
	g_assert_false(btrfs_chunks_add(chunks, UINT64_MAX - MIB, good.bytes, good.length));

	/* No stripes, stripes that are no pairs, no subset, and nothing but parity. */
	const Item bad[] = {
		make_item(0, 0, 1),
		make_item(BTRFS_BLOCK_GROUP_RAID10, 3, 2),
		make_item(BTRFS_BLOCK_GROUP_RAID10, 4, 0),
		make_item(BTRFS_BLOCK_GROUP_RAID5, 1, 1),
		make_item(BTRFS_BLOCK_GROUP_RAID6, 2, 1),
	};
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(btrfs_chunks_add(chunks, START, bad[i].bytes, bad[i].length));

	g_assert_true(btrfs_chunks_add(chunks, START, good.bytes, good.length));
	g_assert_false(btrfs_chunks_add(chunks, START, good.bytes, good.length));
	g_assert_false(btrfs_chunks_add(chunks, START + MIB, good.bytes, good.length));
	g_assert_true(btrfs_chunks_add(chunks, START + 10 * MIB, good.bytes, good.length));
}

#define NODE_BYTES   4096
#define HEADER_BYTES 101
#define CHILD_BYTES  33

static void put_64(uint8_t *at, uint64_t value)
{
	value = GUINT64_TO_LE(value);
	memcpy(at, &value, sizeof(value));
}

static void make_node(uint8_t block[NODE_BYTES], uint8_t level, uint32_t n_children)
{
	n_children = GUINT32_TO_LE(n_children);
	memset(block, 0, NODE_BYTES);
	put_64(block + 48, 7 * MIB);
	put_64(block + 80, 33);
	put_64(block + 88, 256);
	memcpy(block + 96, &n_children, sizeof(n_children));
	block[100] = level;
}

static void test_a_node_has_children(void)
{
	uint8_t block[NODE_BYTES];
	BtrfsNodeChild child;
	BtrfsNode node;

	make_node(block, 2, 2);
	put_64(block + HEADER_BYTES + CHILD_BYTES, 257);
	block[HEADER_BYTES + CHILD_BYTES + 8] = BTRFS_EXTENT_DATA_KEY;
	put_64(block + HEADER_BYTES + CHILD_BYTES + 9, 4096);
	put_64(block + HEADER_BYTES + CHILD_BYTES + 17, 9 * MIB);
	put_64(block + HEADER_BYTES + CHILD_BYTES + 25, 31);
	g_assert_true(btrfs_node_read(block, NODE_BYTES, &node));
	g_assert_cmpuint(node.bytenr, ==, 7 * MIB);
	g_assert_cmpuint(node.generation, ==, 33);
	g_assert_cmpuint(node.owner, ==, 256);
	g_assert_cmpuint(node.level, ==, 2);
	g_assert_cmpuint(node.n_children, ==, 2);

	btrfs_node_child(&node, 1, &child);
	g_assert_cmpuint(child.key.objectid, ==, 257);
	g_assert_cmpuint(child.key.type, ==, BTRFS_EXTENT_DATA_KEY);
	g_assert_cmpuint(child.key.offset, ==, 4096);
	g_assert_cmpuint(child.bytenr, ==, 9 * MIB);
	g_assert_cmpuint(child.generation, ==, 31);
}

static void test_a_node_that_contradicts_itself_is_refused(void)
{
	const uint32_t most = (NODE_BYTES - HEADER_BYTES) / CHILD_BYTES;
	static const struct {
		uint8_t level;
		uint32_t n_children;
		bool is_good;
	} cases[] = {
		{ 1, 1, true },         { 1, most, true },        { 7, 1, true },
		{ 0, 1, false },        { 8, 1, false },          { 1, 0, false },
		{ 1, most + 1, false }, { 1, UINT32_MAX, false },
	};
	uint8_t block[NODE_BYTES];
	BtrfsNode node;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		make_node(block, cases[i].level, cases[i].n_children);
		g_assert_cmpint(btrfs_node_read(block, NODE_BYTES, &node), ==, cases[i].is_good);
	}
	make_node(block, 1, 1);
	g_assert_false(btrfs_node_read(block, HEADER_BYTES + CHILD_BYTES - 1, &node));
	g_assert_false(btrfs_node_read(block, HEADER_BYTES - 1, &node));
	g_assert_false(btrfs_node_read(block, 0, &node));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/btrfs-chunks/each_profile_has_its_places",
			test_each_profile_has_its_places);
	g_test_add_func("/btrfs-chunks/there_are_as_many_copies_as_the_profile_keeps",
			test_there_are_as_many_copies_as_the_profile_keeps);
	g_test_add_func("/btrfs-chunks/what_no_chunk_has_lies_nowhere",
			test_what_no_chunk_has_lies_nowhere);
	g_test_add_func("/btrfs-chunks/damaged_chunks_are_refused",
			test_damaged_chunks_are_refused);
	g_test_add_func("/btrfs-node/a_node_has_children", test_a_node_has_children);
	g_test_add_func("/btrfs-node/a_node_that_contradicts_itself_is_refused",
			test_a_node_that_contradicts_itself_is_refused);
	return g_test_run();
}
