/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/block-sums.h"

#include "hashstore/hash-store.h"
#include "kernel-ioctl/btrfs/btrfs-checksum.h"
#include "tests/unit/fake-btrfs.h"

#include <string.h>

#define BLOCK   UINT64_C(4096)
#define ADDRESS (UINT64_C(1) << 30)

static const HashStoreAbout about = { .kind = "btrfs",
				      .block_bytes = BLOCK,
				      .secret = { 1, 2, 3 } };

/* A btrfs filesystem with the checksum of one block, whose bytes are all @byte, and BlockSums over it. */
typedef struct {
	uint8_t block[BLOCK];
	uint8_t checksum[BTRFS_SUM_BYTES_MAX];
	FakeItem item;
	ExtentSums *extents;
	BlockSums *sums;
} Fixture;

static Fixture *fixture_new(BtrfsChecksum checksum, uint8_t byte)
{
	Fixture *fixture = g_new0(Fixture, 1);
	BtrfsInfo info = {
		.checksum = checksum,
		.sum_bytes = 4,
		.sector_bytes = BLOCK,
		.node_bytes = 16384,
	};

	memset(fixture->block, byte, BLOCK);
	btrfs_checksum_compute(checksum, fixture->block, BLOCK, fixture->checksum);
	fixture->item = (FakeItem){
		.tree = BTRFS_CSUM_TREE_OBJECTID,
		.key = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, ADDRESS },
		.data = fixture->checksum,
		.length = 4,
	};
	*fake_btrfs() = (FakeBtrfs){ .items = &fixture->item, .n_items = 1 };
	fixture->extents = extent_sums_new(FAKE_BTRFS_FD, &info, about.secret);
	fixture->sums = block_sums_new(&about, fixture->extents);
	return fixture;
}

static void fixture_free(Fixture *fixture)
{
	block_sums_free(fixture->sums);
	extent_sums_free(fixture->extents);
	g_free(fixture);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fixture, fixture_free)

static void test_a_block_has_one_sum_read_or_not(void)
{
	g_autoptr(Fixture) fixture = fixture_new(BTRFS_CHECKSUM_CRC32C, 'x');
	uint64_t sum = 0;

	g_assert_true(block_sums_read(fixture->sums, ADDRESS, 1, &sum));
	g_assert_cmpuint(sum, ==, block_sums_of_data(fixture->sums, fixture->block, true));
}

static void test_sums_of_different_kinds_never_meet(void)
{
	g_autoptr(Fixture) fixture = fixture_new(BTRFS_CHECKSUM_CRC32C, 'x');
	uint64_t of_extent = 0;
	uint64_t of_checksum = block_sums_of_data(fixture->sums, fixture->block, true);
	uint64_t of_data = block_sums_of_data(fixture->sums, fixture->block, false);

	g_assert_true(extent_sums_read(fixture->extents, ADDRESS, 1, &of_extent, NULL));
	g_assert_cmpuint(of_checksum, !=, of_data);
	g_assert_cmpuint(of_checksum, !=, of_extent);
	g_assert_cmpuint(of_data, !=, of_extent);
}

static void test_zeros_are_known_by_their_sum(void)
{
	g_autoptr(Fixture) fixture = fixture_new(BTRFS_CHECKSUM_CRC32C, 0);
	uint64_t sum = 0;

	g_assert_true(block_sums_read(fixture->sums, ADDRESS, 1, &sum));
	g_assert_cmpuint(sum, ==, block_sums_of_zeros(fixture->sums, true));
	g_assert_cmpuint(block_sums_of_data(fixture->sums, fixture->block, false), ==,
			 block_sums_of_zeros(fixture->sums, false));
}

static void test_where_a_checksum_lacks_the_data_has_to_be_read(void)
{
	g_autoptr(Fixture) fixture = fixture_new(BTRFS_CHECKSUM_CRC32C, 'x');
	g_autoptr(BlockSums) none = block_sums_new(&about, NULL);
	uint64_t sums[2];

	g_assert_false(block_sums_read(fixture->sums, ADDRESS, 2, sums));
	g_assert_false(block_sums_read(none, ADDRESS, 1, sums));
}

static void test_what_cannot_be_computed_is_hashed_instead(void)
{
	g_autoptr(Fixture) fixture = fixture_new(BTRFS_CHECKSUM_BLAKE2B, 'x');
	uint64_t of_data = block_sums_of_data(fixture->sums, fixture->block, false);
	uint64_t instead = block_sums_of_data(fixture->sums, fixture->block, true);

	g_assert_cmpuint(instead, !=, 0);
	g_assert_cmpuint(instead, !=, of_data);
}

static void test_with_the_key_of_a_fleet_xfs_has_the_sums_of_btrfs(void)
{
	g_autoptr(Fixture) fixture = fixture_new(BTRFS_CHECKSUM_CRC32C, 'x');
	HashStoreAbout of_store = about;
	HashStoreAbout of_fleet = about;
	uint64_t of_extent = 0;

	g_strlcpy(of_store.kind, "XFS", sizeof(of_store.kind));
	g_strlcpy(of_fleet.kind, "XFS", sizeof(of_fleet.kind));
	g_strlcpy(of_fleet.fleet_key, "0123456789abcdef", sizeof(of_fleet.fleet_key));
	g_autoptr(BlockSums) alone = block_sums_new(&of_store, NULL);
	g_autoptr(BlockSums) sums = block_sums_new(&of_fleet, NULL);

	g_assert_true(extent_sums_read(fixture->extents, ADDRESS, 1, &of_extent, NULL));
	g_assert_cmpuint(block_sums_of_data(sums, fixture->block, false), ==, of_extent);
	g_assert_cmpuint(block_sums_of_zeros(sums, false), ==,
			 extent_sums_of_zeros(fixture->extents));
	g_assert_cmpuint(block_sums_of_data(alone, fixture->block, false), !=, of_extent);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/block-sums/a-block-has-one-sum-read-or-not",
			test_a_block_has_one_sum_read_or_not);
	g_test_add_func("/block-sums/sums-of-different-kinds-never-meet",
			test_sums_of_different_kinds_never_meet);
	g_test_add_func("/block-sums/zeros-are-known-by-their-sum",
			test_zeros_are_known_by_their_sum);
	g_test_add_func("/block-sums/where-a-checksum-lacks-the-data-has-to-be-read",
			test_where_a_checksum_lacks_the_data_has_to_be_read);
	g_test_add_func("/block-sums/what-cannot-be-computed-is-hashed-instead",
			test_what_cannot_be_computed_is_hashed_instead);

	g_test_add_func("/block-sums/with-the-key-of-a-fleet-xfs-has-the-sums-of-btrfs",
			test_with_the_key_of_a_fleet_xfs_has_the_sums_of_btrfs);

	return g_test_run();
}
