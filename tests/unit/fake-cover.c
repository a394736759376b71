/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/fake-cover.h"

#include "hashstore/hash-store.h"
#include "tests/unit/fake-btrfs.h"

FakeCover *fake_cover_new(uint64_t blocks)
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

	*fake_btrfs() = (FakeBtrfs){ 0 };
	fake->blocks = blocks;
	fake->sums = extent_sums_new(FAKE_BTRFS_FD, &info, secret);
	fake->cover = extent_cover_new(fake->sums, FAKE_COVER_BLOCK_BYTES);
	g_assert_true(extent_cover_begin(fake->cover, 1 << 20, blocks, &error));
	g_assert_no_error(error);
	return fake;
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
