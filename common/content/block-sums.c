/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/block-sums.h"

#include "hashstore/hash-store.h"

#include <xxhash.h>

struct BlockSums {
	const uint8_t *secret;
	uint32_t block_bytes;
	ExtentSums *extents;
	uint64_t zeros[2]; /* of read data, and by checksum */
};

BlockSums *block_sums_new(const uint8_t *secret, uint32_t block_bytes, ExtentSums *extents)
{
	BlockSums *sums = g_new0(BlockSums, 1);
	g_autofree uint8_t *zeros = g_malloc0(block_bytes);

	sums->secret = secret;
	sums->block_bytes = block_bytes;
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

uint64_t block_sums_of_data(const BlockSums *sums, const uint8_t *block, bool by_checksum)
{
	uint64_t sum = EXTENT_SUM_NONE;

	if (by_checksum && sums->extents)
		sum = extent_sums_of_data(sums->extents, block);
	if (sum == EXTENT_SUM_NONE)
		sum = XXH3_64bits_withSecret(block, sums->block_bytes, sums->secret,
					     HASH_STORE_SECRET_BYTES);
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
