/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/stretch.h"

#include "hashstore/hash-store.h"
#include "tests/unit/fake-btrfs.h"

#include <string.h>

#define BLOCK     4096
#define ROOT      257
#define INODE     300
#define ADDRESS   (UINT64_C(1) << 30)
#define ITEMS_MAX 16
#define N_SUMS    256

/* One file, and the sums of N_SUMS blocks from ADDRESS on: block i has the sum 1000 + i. */
typedef struct {
	struct btrfs_file_extent_item extents[ITEMS_MAX];
	uint32_t sums[N_SUMS];
	FakeItem items[ITEMS_MAX + 1];
	size_t n_extents;
} FakeFile;

static void fake_file_init(FakeFile *file)
{
	memset(file, 0, sizeof(*file));
	for (uint32_t i = 0; i < N_SUMS; i++)
		file->sums[i] = 1000 + i;
}

/* Add an extent of @blocks blocks, @first_block behind ADDRESS; all but @hidden are shown. */
static struct btrfs_file_extent_item *add_extent(FakeFile *file, uint64_t file_block,
						 uint64_t first_block, uint64_t blocks,
						 uint64_t hidden)
{
	struct btrfs_file_extent_item *extent = &file->extents[file->n_extents];

	extent->type = BTRFS_FILE_EXTENT_REG;
	extent->disk_bytenr = GUINT64_TO_LE(ADDRESS + first_block * BLOCK);
	extent->disk_num_bytes = GUINT64_TO_LE(blocks * BLOCK);
	extent->ram_bytes = extent->disk_num_bytes;
	extent->offset = GUINT64_TO_LE(hidden * BLOCK);
	extent->num_bytes = GUINT64_TO_LE((blocks - hidden) * BLOCK);
	file->items[file->n_extents++] = (FakeItem){
		.tree = ROOT,
		.key = { INODE, BTRFS_EXTENT_DATA_KEY, file_block * BLOCK },
		.data = extent,
		.length = sizeof(*extent),
	};
	return extent;
}

/* Show the file to the kernel from here on. */
static void publish(FakeFile *file)
{
	file->items[file->n_extents] = (FakeItem){
		.tree = BTRFS_CSUM_TREE_OBJECTID,
		.key = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, ADDRESS },
		.data = file->sums,
		.length = sizeof(file->sums),
	};
	*fake_btrfs() = (FakeBtrfs){ .items = file->items, .n_items = file->n_extents + 1 };
}

static GArray *read_parts(uint64_t first_block, uint64_t blocks)
{
	g_autoptr(BtrfsFileExtents) extents = btrfs_file_extents_new();
	g_autoptr(GError) error = NULL;
	StretchPlace place = { ROOT, INODE, first_block * BLOCK, blocks * BLOCK };
	GArray *parts = g_array_new(false, false, sizeof(StretchPart));

	g_assert_true(stretch_read_parts(extents, FAKE_BTRFS_FD, &place, parts, &error));
	g_assert_no_error(error);
	return parts;
}

static const StretchPart *part_at(const GArray *parts, guint i)
{
	return &g_array_index(parts, StretchPart, i);
}

static void assert_part(const GArray *parts, guint i, uint64_t offset, uint64_t length,
			uint64_t position)
{
	g_assert_cmpuint(i, <, parts->len);
	g_assert_cmpuint(part_at(parts, i)->offset, ==, offset * BLOCK);
	g_assert_cmpuint(part_at(parts, i)->length, ==, length * BLOCK);
	g_assert_cmpuint(part_at(parts, i)->position, ==, position * BLOCK);
}

static void test_parts_are_what_the_file_shows_of_the_place(void)
{
	FakeFile file;
	g_autoptr(GArray) parts = NULL;

	fake_file_init(&file);
	add_extent(&file, 0, 100, 8, 0);
	add_extent(&file, 8, 50, 8, 3);
	add_extent(&file, 13, 0, 8, 0);
	publish(&file);
	parts = read_parts(4, 12);

	g_assert_cmpuint(parts->len, ==, 3);
	assert_part(parts, 0, 4, 4, 4);
	assert_part(parts, 1, 8, 5, 3);
	assert_part(parts, 2, 13, 3, 0);
}

static void test_what_has_no_blocks_of_its_own_is_no_part(void)
{
	FakeFile file;
	g_autoptr(GArray) parts = NULL;

	fake_file_init(&file);
	add_extent(&file, 0, 0, 4, 0)->compression = 3;
	add_extent(&file, 4, 4, 4, 0)->type = BTRFS_FILE_EXTENT_PREALLOC;
	add_extent(&file, 8, 8, 4, 0)->disk_bytenr = 0;
	add_extent(&file, 12, 12, 4, 0);
	publish(&file);
	parts = read_parts(0, 100);

	g_assert_cmpuint(parts->len, ==, 1);
	assert_part(parts, 0, 12, 4, 0);
}

/* As if the file was written between two looks at its tree. */
static void test_parts_never_overlap(void)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	const BtrfsInfo info = { .checksum = BTRFS_CHECKSUM_CRC32C,
				 .sum_bytes = 4,
				 .sector_bytes = BLOCK,
				 .node_bytes = 16384 };
	FakeFile file;
	g_autoptr(GArray) parts = NULL;
	g_autoptr(GArray) joined = g_array_new(false, true, sizeof(uint64_t));
	g_autoptr(ExtentSums) sums = extent_sums_new(FAKE_BTRFS_FD, &info, secret);
	g_autoptr(GError) error = NULL;

	fake_file_init(&file);
	add_extent(&file, 0, 0, 100, 0);
	add_extent(&file, 2, 100, 4, 0);
	add_extent(&file, 98, 104, 4, 0);
	publish(&file);
	parts = read_parts(0, 200);

	g_assert_cmpuint(parts->len, ==, 2);
	assert_part(parts, 0, 0, 100, 0);
	assert_part(parts, 1, 100, 2, 2);
	g_assert_true(
		stretch_read_sums(sums, 0, part_at(parts, 0), parts->len, BLOCK, joined, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(joined->len, ==, 102);
}

static void test_a_file_that_is_gone_has_no_parts(void)
{
	FakeFile file;
	g_autoptr(GArray) parts = NULL;

	fake_file_init(&file);
	publish(&file);
	parts = read_parts(0, 100);
	g_assert_cmpuint(parts->len, ==, 0);
}

static void test_sums_are_joined_in_the_order_of_the_file(void)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	static const BtrfsInfo info = {
		.checksum = BTRFS_CHECKSUM_CRC32C,
		.sum_bytes = 4,
		.sector_bytes = BLOCK,
		.node_bytes = 16384,
	};
	g_autoptr(ExtentSums) sums = extent_sums_new(FAKE_BTRFS_FD, &info, secret);
	g_autoptr(GArray) parts = NULL;
	g_autoptr(GArray) joined = g_array_new(false, true, sizeof(uint64_t));
	const uint64_t addresses[] = { 100, 101, UINT64_MAX, 53, 54, 0, 1, 2 };
	FakeFile file;

	fake_file_init(&file);
	add_extent(&file, 0, 100, 2, 0);
	add_extent(&file, 3, 50, 5, 3);
	add_extent(&file, 5, 0, 3, 0);
	publish(&file);
	parts = read_parts(0, 100);
	g_assert_true(
		stretch_read_sums(sums, 0, part_at(parts, 0), parts->len, BLOCK, joined, NULL));

	g_assert_cmpuint(joined->len, ==, G_N_ELEMENTS(addresses));
	for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++) {
		uint64_t expected = EXTENT_SUM_NONE;

		if (addresses[i] != UINT64_MAX)
			g_assert_true(extent_sums_read(sums, ADDRESS + addresses[i] * BLOCK, 1,
						       &expected, NULL));
		g_assert_cmpuint(g_array_index(joined, uint64_t, i), ==, expected);
	}
}

static void test_a_stretch_ends_at_a_gap_and_at_a_long_extent(void)
{
	const StretchPart parts[] = {
		{ .offset = 0, .length = 8 * BLOCK, .disk_bytes = 8 * BLOCK },
		{ .offset = 8 * BLOCK, .length = BLOCK, .disk_bytes = 31 * BLOCK },
		{ .offset = 9 * BLOCK, .length = BLOCK, .disk_bytes = 32 * BLOCK },
		{ .offset = 10 * BLOCK, .length = BLOCK, .disk_bytes = BLOCK },
		{ .offset = 12 * BLOCK, .length = BLOCK, .disk_bytes = BLOCK },
	};

	g_assert_cmpuint(stretch_count_joined(parts, 5, BLOCK), ==, 2);
	g_assert_cmpuint(stretch_count_joined(parts, 1, BLOCK), ==, 1);
	g_assert_cmpuint(stretch_count_joined(parts + 2, 3, BLOCK), ==, 0);
	g_assert_cmpuint(stretch_count_joined(parts + 3, 2, BLOCK), ==, 1);
	g_assert_cmpuint(stretch_count_joined(parts, 0, BLOCK), ==, 0);
}

static void test_the_row_tells_the_place(void)
{
	const StretchPart parts[] = {
		{ .offset = 40 * BLOCK, .length = 8 * BLOCK },
		{ .offset = 48 * BLOCK, .length = 3 * BLOCK },
	};
	Stretch stretch = {
		.key = 7,
		.root = ROOT,
		.inode = INODE,
		.rank_bytes = 5 * BLOCK,
		.parts = parts,
		.n_parts = 2,
	};
	Object row = stretch_object(&stretch);
	StretchPlace place = stretch_place(&row);

	g_assert_cmpuint(row.id, ==, 7);
	g_assert_cmpuint(row.subvolume, ==, OBJECT_STRETCHES);
	g_assert_cmpuint(row.generation, ==, 5 * BLOCK);
	g_assert_cmpuint(place.root, ==, ROOT);
	g_assert_cmpuint(place.inode, ==, INODE);
	g_assert_cmpuint(place.offset, ==, 40 * BLOCK);
	g_assert_cmpuint(place.length, ==, 11 * BLOCK);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/stretch/parts-are-what-the-file-shows-of-the-place",
			test_parts_are_what_the_file_shows_of_the_place);
	g_test_add_func("/stretch/what-has-no-blocks-of-its-own-is-no-part",
			test_what_has_no_blocks_of_its_own_is_no_part);
	g_test_add_func("/stretch/parts-never-overlap", test_parts_never_overlap);
	g_test_add_func("/stretch/a-file-that-is-gone-has-no-parts",
			test_a_file_that_is_gone_has_no_parts);
	g_test_add_func("/stretch/sums-are-joined-in-the-order-of-the-file",
			test_sums_are_joined_in_the_order_of_the_file);
	g_test_add_func("/stretch/a-stretch-ends-at-a-gap-and-at-a-long-extent",
			test_a_stretch_ends_at_a_gap_and_at_a_long_extent);
	g_test_add_func("/stretch/the-row-tells-the-place", test_the_row_tells_the_place);
	return g_test_run();
}
