/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/fake-cover.h"

#include "hashstore/hash-store.h"
#include "tests/unit/fake-btrfs.h"

#define ADDRESS (UINT64_C(1) << 20)

FakeCover *fake_cover_new_with_sums(const uint32_t *sums, uint64_t blocks)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	const BtrfsInfo info = {
		.checksum = BTRFS_CHECKSUM_CRC32C,
		.sum_bytes = 4,
		.sector_bytes = FAKE_COVER_BLOCK_BYTES,
		.node_bytes = 16384,
	};
	FakeCover *fake = g_new0(FakeCover, 1);
	g_autoptr(GError) error = NULL;

	g_assert_cmpuint(blocks, <=, FAKE_COVER_SUMS_MAX);
	fake->item = (FakeItem){
		.tree = BTRFS_CSUM_TREE_OBJECTID,
		.key = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, ADDRESS },
		.data = sums,
		.length = (uint32_t)(blocks * sizeof(*sums)),
	};
	*fake_btrfs() = (FakeBtrfs){ .items = &fake->item, .n_items = sums ? 1 : 0 };
	fake->blocks = blocks;
	fake->sums = extent_sums_new(FAKE_BTRFS_FD, &info, secret);
	fake->cover = extent_cover_new(fake->sums, FAKE_COVER_BLOCK_BYTES);
	g_assert_true(extent_cover_begin(fake->cover, ADDRESS, blocks, &error));
	g_assert_no_error(error);
	return fake;
}

FakeCover *fake_cover_new(uint64_t blocks)
{
	return fake_cover_new_with_sums(NULL, blocks);
}

void fake_cover_free(FakeCover *fake)
{
	extent_cover_free(fake->cover);
	extent_sums_free(fake->sums);
	g_free(fake);
}

void fake_cover_add(FakeCover *fake, uint64_t first, uint64_t end)
{
	const CoverRange shown = { first, end };
	const CoverSource source = {
		.id = 1, .bytenr = 1 << 30, .blocks = fake->blocks, .shown = &shown, .n_shown = 1
	};

	extent_cover_add_whole(fake->cover, &source);
}
