/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/block-sums.h"

#include "hashstore/hash-store.h"
#include "kernel-ioctl/btrfs/btrfs-checksum.h"

#include <string.h>
#include <xxhash.h>

struct BlockSums {
	const HashStoreAbout *about;
	bool by_crc; /* of data without checksums, too */
	ExtentSums *extents;
	uint64_t zeros[2]; /* of read data, and by checksum */
};

BlockSums *block_sums_new(const HashStoreAbout *about, ExtentSums *extents)
{
	BlockSums *sums = g_new0(BlockSums, 1);
	g_autofree uint8_t *zeros = g_malloc0(about->block_bytes);

	sums->about = about;
	sums->by_crc = about->fleet_key[0] && strcmp(about->kind, "XFS") == 0;
	sums->extents = extents;
	for (int by_checksum = 0; by_checksum < 2; by_checksum++)
		sums->zeros[by_checksum] = block_sums_of_data(sums, zeros, by_checksum);
	return sums;
}

void block_sums_free(BlockSums *sums)
{
	g_free(sums);
}

/* Change the sum of an extent's block into that of a file's block: the two kinds must not match. */
static uint64_t of_file(uint64_t sum)
{
	return ~sum ? ~sum : 1;
}

/* Hash the data, or its checksum, as ExtentSums does. */
static uint64_t hash(const BlockSums *sums, const uint8_t *block)
{
	uint8_t checksum[BTRFS_SUM_BYTES_MAX];
	uint32_t block_bytes = sums->about->block_bytes;
	const uint8_t *secret = sums->about->secret;

	if (!sums->by_crc)
		return XXH3_64bits_withSecret(block, block_bytes, secret, HASH_STORE_SECRET_BYTES);

	(void)btrfs_checksum_compute(BTRFS_CHECKSUM_CRC32C, block, block_bytes, checksum);
	return XXH3_64bits_withSecret(checksum, sizeof(uint32_t), secret, HASH_STORE_SECRET_BYTES);
}

uint64_t block_sums_of_data(const BlockSums *sums, const uint8_t *block, bool by_checksum)
{
	uint64_t sum = EXTENT_SUM_NONE;

	if (by_checksum && sums->extents)
		sum = extent_sums_of_data(sums->extents, block);
	if (sum == EXTENT_SUM_NONE)
		sum = hash(sums, block);
	if (by_checksum)
		return of_file(sum);

	return sum ? sum : 1;
}

uint64_t block_sums_of_zeros(const BlockSums *sums, bool by_checksum)
{
	return sums->zeros[by_checksum];
}

bool block_sums_read(const BlockSums *sums, uint64_t bytenr, size_t n_blocks, uint64_t *ret)
{
	g_autoptr(GError) unread = NULL;

	if (!sums->extents || !extent_sums_read(sums->extents, bytenr, n_blocks, ret, &unread))
		return false;

	for (size_t i = 0; i < n_blocks; i++) {
		if (ret[i] == EXTENT_SUM_NONE)
			return false;
		ret[i] = of_file(ret[i]);
	}
	return true;
}
