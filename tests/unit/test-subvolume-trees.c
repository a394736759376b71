/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/snapshots/extent-holders.h"
#include "cli/snapshots/subvolume-trees.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "tests/unit/fake-btrfs.h"
#include "tests/unit/fake-trees.h"

#include <linux/btrfs_tree.h>
#include <string.h>

#define LIVE     256
#define SNAPSHOT 257
#define DELETED  258

/* Addresses of blocks, as far from each other as blocks of 4 KiB are. */
#define BLOCK(n) (UINT64_C(4096) * (n))

#define KEY(inode, offset)                                                                         \
	{                                                                                          \
		inode, BTRFS_EXTENT_DATA_KEY, offset                                               \
	}
#define CHILD(inode, offset, n, written)                                                           \
	{                                                                                          \
		KEY(inode, offset), BLOCK(n), written                                              \
	}

/*
 * The live subvolume and a snapshot of it from before the transaction 20.  That wrote the leaf 12 in place of
 * 11, and all above it.
 *
 *   live 1 -> 3 -> 10, 12      snapshot 2 -> 4 (was live's) -> 10, 11
 *          -> 5 -> 13, 14                 -> 5 -> 13, 14
 */
static const FakeNode nodes[] = {
	{ BLOCK(1), 20, LIVE, 2, 2, { CHILD(257, 0, 3, 20), CHILD(300, 0, 5, 10) } },
	{ BLOCK(2), 15, SNAPSHOT, 2, 2, { CHILD(257, 0, 4, 10), CHILD(300, 0, 5, 10) } },
	{ BLOCK(3), 20, LIVE, 1, 2, { CHILD(257, 0, 10, 10), CHILD(280, 0, 12, 20) } },
	{ BLOCK(4), 10, LIVE, 1, 2, { CHILD(257, 0, 10, 10), CHILD(280, 0, 11, 10) } },
	{ BLOCK(5), 10, LIVE, 1, 2, { CHILD(300, 0, 13, 10), CHILD(300, 1 << 20, 14, 10) } },
};

static const BtrfsSubvolume subvolumes[] = {
	{ .id = LIVE, .generation = 20, .tree_bytenr = BLOCK(1), .tree_level = 2 },
	{ .id = SNAPSHOT, .generation = 15, .tree_bytenr = BLOCK(2), .tree_level = 2 },
};

typedef struct {
	GArray *subvolumes;
	RootSets *sets;
	FakeTrees fake;
	SubvolumeTrees *trees;
} Fixture;

/* Read the trees of @list; when a node turns out to be reused, the subvolumes are @now. */
static bool read_changing(Fixture *fixture, const BtrfsSubvolume *list, size_t n,
			  const BtrfsSubvolume *now, const FakeNode *all, size_t n_nodes,
			  GError **error)
{
	const TreeSource source = { fake_trees_read, fake_trees_read_subvolumes, &fixture->fake };

	fixture->subvolumes = g_array_new(false, false, sizeof(BtrfsSubvolume));
	g_array_append_vals(fixture->subvolumes, list, (guint)n);
	fixture->sets = root_sets_new((guint)n);
	fixture->fake = (FakeTrees){ all, n_nodes, 0, now, n };
	fixture->trees = subvolume_trees_read(fixture->subvolumes, fixture->sets, &source, error);
	return fixture->trees;
}

static bool read_trees(Fixture *fixture, const BtrfsSubvolume *list, size_t n, const FakeNode *all,
		       size_t n_nodes, GError **error)
{
	return read_changing(fixture, list, n, list, all, n_nodes, error);
}

static void set_up(Fixture *fixture)
{
	g_autoptr(GError) error = NULL;

	read_trees(fixture, subvolumes, G_N_ELEMENTS(subvolumes), nodes, G_N_ELEMENTS(nodes),
		   &error);
	g_assert_no_error(error);
}

static void tear_down(Fixture *fixture)
{
	subvolume_trees_free(fixture->trees);
	root_sets_free(fixture->sets);
	g_array_unref(fixture->subvolumes);
}

static uint64_t bits_of(const Fixture *fixture, RootSet set)
{
	return *root_sets_bits(fixture->sets, set);
}

static uint64_t holders_of(const Fixture *fixture, uint64_t bytenr)
{
	RootSet set;

	g_assert_true(block_holders_find(subvolume_trees_blocks(fixture->trees), bytenr, &set));
	return bits_of(fixture, set);
}

static void test_who_shares_a_node_shares_what_is_below(void)
{
	static const uint64_t expected[] = {
		[1] = 1,  [2] = 2,  [3] = 1,  [4] = 2,  [5] = 3,
		[10] = 3, [11] = 2, [12] = 1, [13] = 3, [14] = 3,
	};
	Fixture fixture;
	RootSet set;

	set_up(&fixture);
	for (size_t i = 1; i < G_N_ELEMENTS(expected); i++) {
		if (expected[i] > 0)
			g_assert_cmpuint(holders_of(&fixture, BLOCK(i)), ==, expected[i]);
		else
			g_assert_false(block_holders_find(subvolume_trees_blocks(fixture.trees),
							  BLOCK(i), &set));
	}
	tear_down(&fixture);
}

static void test_each_node_is_read_once_and_no_leaf(void)
{
	Fixture fixture;

	set_up(&fixture);
	g_assert_cmpuint(fixture.fake.n_reads, ==, G_N_ELEMENTS(nodes));
	tear_down(&fixture);
}

/* The leaves from one key to another as a text: "10 12". */
static char *leaves_between(const Fixture *fixture, guint member, BtrfsKey first, BtrfsKey last)
{
	g_autoptr(GString) text = g_string_new(NULL);
	OwnLeaves leaves;
	uint64_t leaf;

	own_leaves_start(&leaves, fixture->trees, member, &first, &last);
	while (own_leaves_next(&leaves, &leaf))
		g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, text->len > 0 ? " " : "",
				       leaf / BLOCK(1));
	return g_strdup(text->str);
}

static void test_leaves_are_found_by_keys(void)
{
	static const struct {
		guint member;
		BtrfsKey first;
		BtrfsKey last;
		const char *leaves;
	} cases[] = {
		{ 0, KEY(257, 0), KEY(257, 0), "10" },
		{ 0, KEY(279, 5), KEY(279, 5), "10" },
		{ 0, KEY(279, 5), KEY(281, 5), "10 12" },
		{ 0, KEY(280, 0), KEY(280, 0), "12" },
		{ 0, KEY(299, 0), KEY(300, 0), "12 13" },
		{ 0, KEY(300, 7), KEY(300, 9), "13" },
		{ 0, KEY(300, 7), KEY(300, 2 << 20), "13 14" },
		{ 0, KEY(1, 0), KEY(999, 0), "10 12 13 14" },
		{ 0, KEY(1, 0), KEY(2, 0), "" },
		{ 0, KEY(999, 0), KEY(1000, 0), "14" },
		/* The whole tree below the snapshot's top is shared with the live one. */
		{ 1, KEY(257, 0), KEY(999, 0), "" },
	};
	Fixture fixture;

	set_up(&fixture);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *leaves =
			leaves_between(&fixture, cases[i].member, cases[i].first, cases[i].last);

		g_assert_cmpstr(leaves, ==, cases[i].leaves);
	}
	tear_down(&fixture);
}

static void test_between_own_leaves_are_those_of_others(void)
{
	/* A writable snapshot that wrote at both ends. */
	static const FakeNode clone[] = {
		{ BLOCK(2),
		  25,
		  SNAPSHOT,
		  2,
		  3,
		  { CHILD(257, 0, 6, 25), CHILD(300, 0, 5, 10), CHILD(400, 0, 7, 25) } },
		{ BLOCK(5), 10, LIVE, 1, 1, { CHILD(300, 0, 13, 10) } },
		{ BLOCK(6), 25, SNAPSHOT, 1, 1, { CHILD(257, 0, 15, 25) } },
		{ BLOCK(7), 25, SNAPSHOT, 1, 1, { CHILD(400, 0, 16, 25) } },
	};
	static const BtrfsSubvolume one = {
		.id = SNAPSHOT, .generation = 25, .tree_bytenr = BLOCK(2), .tree_level = 2
	};
	g_autoptr(GError) error = NULL;
	Fixture fixture;

	read_trees(&fixture, &one, 1, clone, G_N_ELEMENTS(clone), &error);
	g_assert_no_error(error);
	g_autofree char *between =
		leaves_between(&fixture, 0, (BtrfsKey)KEY(350, 0), (BtrfsKey)KEY(350, 9));
	g_autofree char *from_between =
		leaves_between(&fixture, 0, (BtrfsKey)KEY(350, 0), (BtrfsKey)KEY(400, 9));
	g_assert_cmpstr(between, ==, "");
	g_assert_cmpstr(from_between, ==, "16");
	tear_down(&fixture);
}

static void test_leaves_below_relocated_nodes_are_everyones(void)
{
	static const FakeNode moved[] = {
		{ BLOCK(1), 30, LIVE, 2, 1, { CHILD(257, 0, 8, 30) } },
		{ BLOCK(2), 30, SNAPSHOT, 2, 1, { CHILD(257, 0, 8, 30) } },
		{ BLOCK(8), 30, BTRFS_NODE_OWNER_RELOCATION, 1, 1, { CHILD(257, 0, 10, 10) } },
	};
	static const BtrfsSubvolume both[] = {
		{ .id = LIVE, .generation = 30, .tree_bytenr = BLOCK(1), .tree_level = 2 },
		{ .id = SNAPSHOT, .generation = 30, .tree_bytenr = BLOCK(2), .tree_level = 2 },
	};
	g_autoptr(GError) error = NULL;
	Fixture fixture;

	read_trees(&fixture, both, G_N_ELEMENTS(both), moved, G_N_ELEMENTS(moved), &error);
	g_assert_no_error(error);
	for (guint member = 0; member < 2; member++) {
		g_autofree char *leaves = leaves_between(&fixture, member, (BtrfsKey)KEY(258, 0),
							 (BtrfsKey)KEY(258, 0));

		g_assert_cmpstr(leaves, ==, "10");
	}
	tear_down(&fixture);
}

static void test_a_reused_node_is_an_error_unless_only_a_deleted_subvolume_has_it(void)
{
	static const BtrfsSubvolume list[] = {
		{ .id = LIVE, .generation = 20, .tree_bytenr = BLOCK(1), .tree_level = 2 },
		{ .id = DELETED,
		  .generation = 9,
		  .tree_bytenr = BLOCK(99),
		  .tree_level = 2,
		  .is_dead = true },
	};
	BtrfsSubvolume alive[G_N_ELEMENTS(list)];
	g_autoptr(GError) error = NULL;
	Fixture fixture;

	read_trees(&fixture, list, G_N_ELEMENTS(list), nodes, G_N_ELEMENTS(nodes), &error);
	g_assert_no_error(error);
	g_assert_cmpuint(holders_of(&fixture, BLOCK(99)), ==, 2);
	tear_down(&fixture);

	memcpy(alive, list, sizeof(list));
	alive[1].is_dead = false;
	g_assert_false(read_trees(&fixture, alive, G_N_ELEMENTS(alive), nodes, G_N_ELEMENTS(nodes),
				  &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_AGAIN);
	tear_down(&fixture);
}

static void test_what_came_in_the_stead_of_a_reused_node_is_taken_for_it(void)
{
	/* The transaction 30 wrote to the live subvolume, and the node 3 was reused. */
	static const BtrfsSubvolume now[] = {
		{ .id = LIVE, .generation = 30, .tree_bytenr = BLOCK(31), .tree_level = 2 },
		{ .id = SNAPSHOT, .generation = 15, .tree_bytenr = BLOCK(2), .tree_level = 2 },
	};
	static const FakeNode newer[] = {
		{ BLOCK(31), 30, LIVE, 2, 2, { CHILD(257, 0, 33, 30), CHILD(300, 0, 5, 10) } },
		{ BLOCK(33), 30, LIVE, 1, 2, { CHILD(257, 0, 10, 10), CHILD(280, 0, 42, 30) } },
	};
	FakeNode all[G_N_ELEMENTS(nodes) + G_N_ELEMENTS(newer)];
	g_autoptr(GError) error = NULL;
	Fixture fixture;

	memcpy(all, nodes, sizeof(nodes));
	memcpy(all + G_N_ELEMENTS(nodes), newer, sizeof(newer));
	all[2].generation = 29;
	read_changing(&fixture, subvolumes, G_N_ELEMENTS(subvolumes), now, all, G_N_ELEMENTS(all),
		      &error);
	g_assert_no_error(error);
	g_assert_cmpuint(holders_of(&fixture, BLOCK(10)), ==, 3);
	g_assert_cmpuint(holders_of(&fixture, BLOCK(42)), ==, 1);
	g_assert_cmpuint(holders_of(&fixture, BLOCK(13)), ==, 3);
	g_autofree char *leaves =
		leaves_between(&fixture, 0, (BtrfsKey)KEY(1, 0), (BtrfsKey)KEY(999, 0));
	g_assert_cmpstr(leaves, ==, "10 42 13 14");
	tear_down(&fixture);
}

static void test_a_tree_of_which_the_top_was_reused_may_be_lower_or_gone(void)
{
	BtrfsSubvolume now[G_N_ELEMENTS(subvolumes)];
	g_autoptr(GError) error = NULL;
	Fixture fixture;

	/* The block is a leaf by now. */
	memcpy(now, subvolumes, sizeof(now));
	now[0].generation = 30;
	now[0].tree_bytenr = BLOCK(50);
	now[0].tree_level = 0;
	read_changing(&fixture, subvolumes, G_N_ELEMENTS(subvolumes), now, nodes + 1,
		      G_N_ELEMENTS(nodes) - 1, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(holders_of(&fixture, BLOCK(50)), ==, 1);
	g_assert_cmpuint(holders_of(&fixture, BLOCK(14)), ==, 2);
	g_autofree char *leaves =
		leaves_between(&fixture, 0, (BtrfsKey)KEY(1, 0), (BtrfsKey)KEY(999, 0));
	g_assert_cmpstr(leaves, ==, "50");
	tear_down(&fixture);

	/* The subvolume was deleted. */
	now[0].is_dead = true;
	read_changing(&fixture, subvolumes, G_N_ELEMENTS(subvolumes), now, nodes + 1,
		      G_N_ELEMENTS(nodes) - 1, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(holders_of(&fixture, BLOCK(14)), ==, 2);
	tear_down(&fixture);
}

static void test_a_block_that_another_tree_reused_is_that_ones(void)
{
	/* The deleted subvolume's top refers to the blocks 3 and 14 as nodes, which are live's now. */
	static const FakeNode top = { BLOCK(98), 9, DELETED,
				      2,         2, { CHILD(257, 0, 3, 7), CHILD(300, 0, 14, 7) } };
	static const BtrfsSubvolume list[] = {
		{ .id = LIVE, .generation = 20, .tree_bytenr = BLOCK(1), .tree_level = 2 },
		{ .id = DELETED,
		  .generation = 9,
		  .tree_bytenr = BLOCK(98),
		  .tree_level = 2,
		  .is_dead = true },
	};
	FakeNode all[G_N_ELEMENTS(nodes) + 1];
	g_autoptr(GError) error = NULL;
	Fixture fixture;

	memcpy(all, nodes, sizeof(nodes));
	all[G_N_ELEMENTS(nodes)] = top;
	read_trees(&fixture, list, G_N_ELEMENTS(list), all, G_N_ELEMENTS(all), &error);
	g_assert_no_error(error);
	/* A deleted subvolume counts for nothing, so its bit does no harm. */
	g_assert_cmpuint(holders_of(&fixture, BLOCK(12)) & 1, ==, 1);
	g_assert_cmpuint(holders_of(&fixture, BLOCK(14)) & 1, ==, 1);
	g_autofree char *leaves =
		leaves_between(&fixture, 0, (BtrfsKey)KEY(1, 0), (BtrfsKey)KEY(999, 0));
	g_assert_cmpstr(leaves, ==, "10 12 13 14");
	tear_down(&fixture);
}

/* Extents: items of the extent tree with references, and of the trees that show them. */

static void put(GByteArray *bytes, uint64_t value, guint n)
{
	value = GUINT64_TO_LE(value);
	g_byte_array_append(bytes, (const guint8 *)&value, n);
}

static GByteArray *make_extent(void)
{
	GByteArray *bytes = g_byte_array_new();

	put(bytes, 1, 8);
	put(bytes, 10, 8);
	put(bytes, BTRFS_EXTENT_FLAG_DATA, 8);
	return bytes;
}

static void put_file_ref(GByteArray *bytes, uint64_t root, uint64_t inode, uint64_t offset,
			 uint32_t count)
{
	put(bytes, BTRFS_EXTENT_DATA_REF_KEY, 1);
	put(bytes, root, 8);
	put(bytes, inode, 8);
	put(bytes, offset, 8);
	put(bytes, count, 4);
}

static void put_leaf_ref(GByteArray *bytes, uint64_t leaf)
{
	put(bytes, BTRFS_SHARED_DATA_REF_KEY, 1);
	put(bytes, leaf, 8);
	put(bytes, 1, 4);
}

#define EXTENT(n) ((UINT64_C(1) << 30) + (UINT64_C(1) << 20) * (n))

static struct btrfs_file_extent_item shown(uint64_t bytenr, uint64_t offset)
{
	return (struct btrfs_file_extent_item){
		.type = BTRFS_FILE_EXTENT_REG,
		.disk_bytenr = GUINT64_TO_LE(bytenr),
		.disk_num_bytes = GUINT64_TO_LE(UINT64_C(2) << 20),
		.offset = GUINT64_TO_LE(offset),
		.num_bytes = GUINT64_TO_LE(UINT64_C(4096)),
	};
}

static uint64_t bytes_of(const Fixture *fixture, const ExtentHolders *extents, uint64_t bits)
{
	uint64_t bytes = 0;

	for (RootSet set = 0; set < extents->bytes->len; set++)
		if (bits_of(fixture, set) == bits)
			bytes += g_array_index(extents->bytes, uint64_t, set);
	return bytes;
}

static void test_extents_are_held_by_who_holds_the_leaves_that_show_them(void)
{
	g_autoptr(GByteArray) shared = make_extent(), live = make_extent(), old = make_extent();
	g_autoptr(GByteArray) twice = make_extent(), cache = make_extent();
	g_autoptr(GByteArray) lost = make_extent();
	ExtentHolders extents;
	g_autoptr(GError) error = NULL;
	Fixture fixture;

	set_up(&fixture);
	put_file_ref(shared, LIVE, 258, 0, 1);
	put_file_ref(live, LIVE, 281, 0, 1);
	put_leaf_ref(old, BLOCK(11));
	put_file_ref(twice, LIVE, 282, 0, 1);
	put_leaf_ref(twice, BLOCK(11));
	put_file_ref(cache, BTRFS_ROOT_TREE_OBJECTID, 256, 0, 1);
	put_leaf_ref(lost, BLOCK(77));
	const FakeItem items[] = {
		{ 2, { EXTENT(0), BTRFS_EXTENT_ITEM_KEY, 4096 }, shared->data, shared->len, 1 },
		{ 2, { EXTENT(1), BTRFS_EXTENT_ITEM_KEY, 8192 }, live->data, live->len, 1 },
		{ 2, { EXTENT(2), BTRFS_EXTENT_ITEM_KEY, 16384 }, old->data, old->len, 1 },
		{ 2, { EXTENT(3), BTRFS_EXTENT_ITEM_KEY, 32768 }, twice->data, twice->len, 1 },
		{ 2, { EXTENT(4), BTRFS_EXTENT_ITEM_KEY, 65536 }, cache->data, cache->len, 1 },
		{ 2, { EXTENT(5), BTRFS_EXTENT_ITEM_KEY, 131072 }, lost->data, lost->len, 1 },
	};
	*fake_btrfs() = (FakeBtrfs){ .items = items, .n_items = G_N_ELEMENTS(items) };

	g_assert_true(extent_holders_read(FAKE_BTRFS_FD, fixture.trees, fixture.sets,
					  &(ProgressLine){ 0 }, &extents, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(bytes_of(&fixture, &extents, 3), ==, 4096 + 32768);
	g_assert_cmpuint(bytes_of(&fixture, &extents, 1), ==, 8192);
	g_assert_cmpuint(bytes_of(&fixture, &extents, 2), ==, 16384);
	g_assert_cmpuint(bytes_of(&fixture, &extents, 0), ==, 65536 + 131072);
	g_assert_cmpuint(extents.n_extents, ==, G_N_ELEMENTS(items));
	g_assert_cmpuint(extents.n_unsure, ==, 1);
	extent_holders_clear(&extents);
	tear_down(&fixture);
}

static void test_of_several_leaves_those_count_whose_items_show_the_extent(void)
{
	/* The extent 1 overwrote it and left pieces, all in the leaf 14. */
	const struct btrfs_file_extent_item other = shown(EXTENT(1), 0);
	const struct btrfs_file_extent_item piece = shown(EXTENT(0), (1 << 20) + 4096);
	/* Another file's view of the same extent is another reference. */
	const struct btrfs_file_extent_item moved = shown(EXTENT(0), 8192);
	g_autoptr(GByteArray) extent = make_extent();
	ExtentHolders extents;
	g_autoptr(GError) error = NULL;
	Fixture fixture;

	set_up(&fixture);
	put_file_ref(extent, LIVE, 300, 0, 1);
	FakeItem items[] = {
		{ 2, { EXTENT(0), BTRFS_EXTENT_ITEM_KEY, 2 << 20 }, extent->data, extent->len, 1 },
		{ LIVE, KEY(300, 0), &other, sizeof(other), 1 },
		{ LIVE, KEY(300, 4096), &moved, sizeof(moved), 1 },
		{ LIVE, KEY(300, (1 << 20) + 4096), &piece, sizeof(piece), 1 },
	};
	/* Leave the leaf 14 to the live subvolume alone. */
	FakeNode changed[G_N_ELEMENTS(nodes)];
	tear_down(&fixture);
	memcpy(changed, nodes, sizeof(nodes));
	changed[4].n_children = 1;
	changed[0].n_children = 3;
	changed[0].children[2] = (BtrfsNodeChild)CHILD(300, 1 << 20, 9, 20);
	FakeNode all[G_N_ELEMENTS(nodes) + 1];
	memcpy(all, changed, sizeof(changed));
	all[G_N_ELEMENTS(nodes)] =
		(FakeNode){ BLOCK(9), 20, LIVE, 1, 1, { CHILD(300, 1 << 20, 14, 20) } };
	read_trees(&fixture, subvolumes, G_N_ELEMENTS(subvolumes), all, G_N_ELEMENTS(all), &error);
	g_assert_no_error(error);

	*fake_btrfs() = (FakeBtrfs){ .items = items, .n_items = G_N_ELEMENTS(items) };
	g_assert_true(extent_holders_read(FAKE_BTRFS_FD, fixture.trees, fixture.sets,
					  &(ProgressLine){ 0 }, &extents, &error));
	g_assert_cmpuint(extents.n_unsure, ==, 0);
	g_assert_cmpuint(bytes_of(&fixture, &extents, 1), ==, 2 << 20);
	extent_holders_clear(&extents);

	/* If the items do not tell, all leaves in question count. */
	*fake_btrfs() = (FakeBtrfs){ .items = items, .n_items = 2 };
	g_assert_true(extent_holders_read(FAKE_BTRFS_FD, fixture.trees, fixture.sets,
					  &(ProgressLine){ 0 }, &extents, &error));
	g_assert_cmpuint(extents.n_unsure, ==, 1);
	g_assert_cmpuint(bytes_of(&fixture, &extents, 3), ==, 2 << 20);
	extent_holders_clear(&extents);
	tear_down(&fixture);
}

static void test_a_damaged_extent_is_an_error(void)
{
	g_autoptr(GByteArray) extent = make_extent();
	g_autoptr(GError) error = NULL;
	ExtentHolders extents;
	Fixture fixture;

	set_up(&fixture);
	put_file_ref(extent, LIVE, 258, 0, 1);
	const FakeItem item = {
		2, { EXTENT(0), BTRFS_EXTENT_ITEM_KEY, 4096 }, extent->data, extent->len - 1, 1
	};
	*fake_btrfs() = (FakeBtrfs){ .items = &item, .n_items = 1 };
	g_assert_false(extent_holders_read(FAKE_BTRFS_FD, fixture.trees, fixture.sets,
					   &(ProgressLine){ 0 }, &extents, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_IO);
	tear_down(&fixture);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/subvolume-trees/who_shares_a_node_shares_what_is_below",
			test_who_shares_a_node_shares_what_is_below);
	g_test_add_func("/subvolume-trees/each_node_is_read_once_and_no_leaf",
			test_each_node_is_read_once_and_no_leaf);
	g_test_add_func("/subvolume-trees/leaves_are_found_by_keys", test_leaves_are_found_by_keys);
	g_test_add_func("/subvolume-trees/between_own_leaves_are_those_of_others",
			test_between_own_leaves_are_those_of_others);
	g_test_add_func("/subvolume-trees/leaves_below_relocated_nodes_are_everyones",
			test_leaves_below_relocated_nodes_are_everyones);
	g_test_add_func("/subvolume-trees/"
			"a_reused_node_is_an_error_unless_only_a_deleted_subvolume_has_it",
			test_a_reused_node_is_an_error_unless_only_a_deleted_subvolume_has_it);
	g_test_add_func("/subvolume-trees/"
			"what_came_in_the_stead_of_a_reused_node_is_taken_for_it",
			test_what_came_in_the_stead_of_a_reused_node_is_taken_for_it);
	g_test_add_func("/subvolume-trees/"
			"a_tree_of_which_the_top_was_reused_may_be_lower_or_gone",
			test_a_tree_of_which_the_top_was_reused_may_be_lower_or_gone);
	g_test_add_func("/subvolume-trees/a_block_that_another_tree_reused_is_that_ones",
			test_a_block_that_another_tree_reused_is_that_ones);
	g_test_add_func("/extent-holders/"
			"extents_are_held_by_who_holds_the_leaves_that_show_them",
			test_extents_are_held_by_who_holds_the_leaves_that_show_them);
	g_test_add_func("/extent-holders/of_several_leaves_those_count_whose_items_show_the_extent",
			test_of_several_leaves_those_count_whose_items_show_the_extent);
	g_test_add_func("/extent-holders/a_damaged_extent_is_an_error",
			test_a_damaged_extent_is_an_error);
	return g_test_run();
}
