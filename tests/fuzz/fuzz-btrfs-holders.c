/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/snapshots/extent-holders.h"
#include "cli/snapshots/subvolume-trees.h"
#include "kernel-ioctl/btrfs/btrfs-chunks.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/hostile-btrfs.h"

#include <string.h>

#define FD 1000

#define NODE_BYTES   4096
#define HEADER_BYTES 101
#define CHILD_BYTES  33

/* Addresses of nodes are few, so that trees share some, and a circle would show. */
#define BLOCKS 24

/*
 * A node is read once, what came in the stead of a reused one four times at most, and so many on the way.  A walk that reads
 * more goes in a circle.
 */
#define READS_MAX (BLOCKS * BTRFS_NODE_LEVELS * 5 + HOSTILE_SUBVOLUMES * 4 + TREE_SEARCHES_MAX)

const char *const fuzz_seeds[] = { NULL };

typedef struct {
	Choices *choices;
	uint8_t block[NODE_BYTES];
	unsigned n_reads;
} Reader;

static void put(uint8_t *at, uint64_t value)
{
	value = GUINT64_TO_LE(value);
	memcpy(at, &value, sizeof(value));
}

static uint64_t any_block(Choices *choices)
{
	return choices_number(choices, (1 + choices_below(choices, BLOCKS)) * NODE_BYTES);
}

static uint64_t any_owner(Choices *choices)
{
	static const uint64_t owners[] = { BTRFS_NODE_OWNER_RELOCATION, 1 };

	if (choices_below(choices, 4) == 0)
		return choices_number(choices,
				      owners[choices_below(choices, G_N_ELEMENTS(owners))]);
	return hostile_subvolumes[choices_below(choices, HOSTILE_SUBVOLUMES)];
}

/* A node with rising keys, of which some are of the files that there are. */
static void make_node(Reader *reader, uint64_t bytenr, uint64_t generation, uint8_t level)
{
	Choices *choices = reader->choices;
	uint32_t n = 1 + (uint32_t)choices_below(choices, 6);
	uint64_t inode = choices_below(choices, HOSTILE_FIRST_INODE);
	uint8_t *at = reader->block + HEADER_BYTES;

	memset(reader->block, 0, sizeof(reader->block));
	put(reader->block + 48, bytenr);
	put(reader->block + 80, generation);
	put(reader->block + 88, any_owner(choices));
	reader->block[96] = (uint8_t)choices_number(choices, n);
	reader->block[100] = level;
	for (uint32_t i = 0; i < n; i++, at += CHILD_BYTES) {
		put(at, choices_number(choices, inode));
		at[8] = choices_yes(choices) ? BTRFS_EXTENT_DATA_KEY : BTRFS_INODE_ITEM_KEY;
		put(at + 9, choices_below(choices, 8) * HOSTILE_BLOCK_BYTES);
		put(at + 17, any_block(choices));
		put(at + 25, choices_number(choices, HOSTILE_GENERATION));
		inode += choices_below(choices, HOSTILE_FILES_MAX);
	}
}

static bool read_node(void *data, uint64_t bytenr, uint64_t generation, uint8_t level,
		      BtrfsNode *ret, GError **error)
{
	Reader *reader = data;

	g_assert_cmpuint(++reader->n_reads, <=, READS_MAX);
	g_assert_cmpuint(level, >, 0);
	g_assert_cmpuint(level, <, BTRFS_NODE_LEVELS);
	if (!choices_damage(reader->choices)) {
		make_node(reader, bytenr, generation, level);
		choices_bytes(reader->choices, reader->block, sizeof(reader->block));
		if (btrfs_node_read(reader->block, sizeof(reader->block), ret) &&
		    ret->level == level)
			return true;
	}

	g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_AGAIN, "it was reused");
	return false;
}

static bool read_subvolumes(void *data, GArray **ret, GError **error)
{
	Reader *reader = data;

	if (!btrfs_subvolumes_read(FD, ret, error))
		return false;
	for (guint i = 0; i < (*ret)->len; i++) {
		BtrfsSubvolume *subvolume = &g_array_index(*ret, BtrfsSubvolume, i);

		subvolume->tree_bytenr = any_block(reader->choices);
		subvolume->tree_level =
			(uint8_t)choices_number(reader->choices, choices_below(reader->choices, 4));
	}
	return true;
}

/* A set has no bits but those of subvolumes, and no two sets are equal. */
static void check_sets(const RootSets *sets, guint n_members)
{
	for (RootSet set = 0; set < root_sets_count(sets); set++) {
		const uint64_t bits = *root_sets_bits(sets, set);

		g_assert_true((bits == 0) == (set == ROOT_SET_EMPTY));
		g_assert_cmpuint(n_members < 64 ? bits >> n_members : 0, ==, 0);
		for (RootSet other = 0; other < set; other++)
			g_assert_cmpuint(*root_sets_bits(sets, other), !=, bits);
	}
}

static void try_holders(Choices *choices)
{
	g_autoptr(GArray) subvolumes = NULL;
	g_autoptr(SubvolumeTrees) trees = NULL;
	g_autoptr(RootSets) sets = NULL;
	Reader reader = { .choices = choices };
	const TreeSource source = { read_node, read_subvolumes, &reader };
	ExtentHolders extents;

	if (!btrfs_subvolumes_read(FD, &subvolumes, NULL) || subvolumes->len > 64)
		return;
	for (guint i = 0; i < subvolumes->len; i++) {
		BtrfsSubvolume *subvolume = &g_array_index(subvolumes, BtrfsSubvolume, i);

		subvolume->tree_bytenr = any_block(choices);
		subvolume->tree_level = (uint8_t)choices_number(choices, choices_below(choices, 4));
	}
	sets = root_sets_new(subvolumes->len);
	trees = subvolume_trees_read(subvolumes, sets, &source, NULL);
	if (!trees)
		return;

	if (extent_holders_read(FD, trees, sets, &(ProgressLine){ 0 }, &extents, NULL)) {
		g_assert_cmpuint(extents.bytes->len, ==, root_sets_count(sets));
		extent_holders_clear(&extents);
	}
	check_sets(sets, subvolumes->len);
}

/* What a chunk tells lies on a stripe that it named. */
static void try_chunks(const uint8_t *data, uint32_t length)
{
	g_autoptr(BtrfsChunks) chunks = btrfs_chunks_new();
	BtrfsDevicePlace place;
	unsigned copies = 0;

	if (!btrfs_chunks_add(chunks, 0, data, length))
		return;
	for (uint64_t bytenr = 0; bytenr < 64 * NODE_BYTES; bytenr += NODE_BYTES)
		for (unsigned copy = 0; btrfs_chunks_find(chunks, bytenr, NODE_BYTES, copy, &place);
		     copy++)
			copies++;
	g_assert_cmpuint(copies / 64, <=, length / 32);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Choices choices = choices_begin(data, size);

	try_chunks(data, (uint32_t)size);
	hostile_btrfs_make(&choices, HOSTILE_GENERATION);
	try_holders(&choices);
	hostile_btrfs_clear();
	return 0;
}
