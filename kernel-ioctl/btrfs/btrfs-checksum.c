/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-checksum.h"

#include <glib.h>
#include <linux/btrfs_tree.h>
#include <string.h>
#include <xxhash.h>

/* Castagnoli's polynomial, the least significant bit first (RFC 3720, appendix B.4). */
#define CRC32C_POLYNOMIAL UINT32_C(0x82f63b78)

BtrfsChecksum btrfs_checksum_of_type(uint16_t type)
{
	switch (type) {
	case BTRFS_CSUM_TYPE_CRC32:
		return BTRFS_CHECKSUM_CRC32C;
	case BTRFS_CSUM_TYPE_XXHASH:
		return BTRFS_CHECKSUM_XXHASH64;
	case BTRFS_CSUM_TYPE_SHA256:
		return BTRFS_CHECKSUM_SHA256;
	case BTRFS_CSUM_TYPE_BLAKE2:
		return BTRFS_CHECKSUM_BLAKE2B;
	default:
		return BTRFS_CHECKSUM_UNKNOWN;
	}
}

/* Row n: the sum of a byte that n bytes of zeros follow. */
typedef struct {
	uint32_t of_byte[8][256];
} Crc32cTable;

static gpointer make_crc32c_table(gpointer unused)
{
	static Crc32cTable table;

	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CRC32C_POLYNOMIAL : 0);
		table.of_byte[0][byte] = crc;
	}
	for (int row = 1; row < 8; row++)
		for (uint32_t byte = 0; byte < 256; byte++) {
			uint32_t crc = table.of_byte[row - 1][byte];

			table.of_byte[row][byte] = crc >> 8 ^ table.of_byte[0][crc & 0xff];
		}
	return &table;
}

/* Eight bytes at a time, which is three times as fast as single bytes. */
static uint32_t crc32c(const uint8_t *data, size_t length)
{
	static GOnce made = G_ONCE_INIT;
	const Crc32cTable *table = g_once(&made, make_crc32c_table, NULL);
	uint32_t crc = UINT32_MAX;

	for (; length >= 8; data += 8, length -= 8) {
		uint64_t eight;

		memcpy(&eight, data, sizeof(eight));
		eight = GUINT64_FROM_LE(eight) ^ crc;
		crc = 0;
		for (int i = 0; i < 8; i++)
			crc ^= table->of_byte[7 - i][eight >> 8 * i & 0xff];
	}
	for (; length > 0; data++, length--)
		crc = crc >> 8 ^ table->of_byte[0][(crc ^ *data) & 0xff];
	return ~crc;
}

static void sha256(const uint8_t *data, size_t length, uint8_t *ret)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	gsize size = BTRFS_SUM_BYTES_MAX;

	g_checksum_update(sum, data, (gssize)length);
	g_checksum_get_digest(sum, ret, &size);
}

bool btrfs_checksum_compute(BtrfsChecksum checksum, const void *data, size_t length,
			    uint8_t ret[BTRFS_SUM_BYTES_MAX])
{
	uint32_t crc;
	uint64_t hash;

	memset(ret, 0, BTRFS_SUM_BYTES_MAX);
	switch (checksum) {
	case BTRFS_CHECKSUM_CRC32C:
		crc = GUINT32_TO_LE(crc32c(data, length));
		memcpy(ret, &crc, sizeof(crc));
		return true;
	case BTRFS_CHECKSUM_XXHASH64:
		hash = GUINT64_TO_LE(XXH64(data, length, 0));
		memcpy(ret, &hash, sizeof(hash));
		return true;
	case BTRFS_CHECKSUM_SHA256:
		sha256(data, length, ret);
		return true;
	case BTRFS_CHECKSUM_BLAKE2B:
	case BTRFS_CHECKSUM_UNKNOWN:
		break;
	}
	return false;
}

/* BLAKE2b of 256 bits, without a key (RFC 7693), of blocks of zeros.  No other data needs it. */
static const struct {
	uint32_t bytes;
	uint8_t sum[BTRFS_SUM_BYTES_MAX];
} blake2b_of_zeros[] = {
	{ 4096, { 0x68, 0x6e, 0xde, 0x92, 0x88, 0xc3, 0x91, 0xe7, 0xe0, 0x50, 0x26,
		  0xe5, 0x6f, 0x2f, 0x91, 0xbf, 0xd8, 0x79, 0x98, 0x7a, 0x04, 0x0e,
		  0xa9, 0x84, 0x45, 0xda, 0xbc, 0x76, 0xf5, 0x5b, 0x8e, 0x5f } },
	{ 8192, { 0xcf, 0x7d, 0xd6, 0x54, 0x5b, 0x3e, 0x87, 0xac, 0xc5, 0xe2, 0x8a,
		  0x62, 0x95, 0xdc, 0x49, 0x72, 0xed, 0x21, 0x30, 0x26, 0x60, 0xe1,
		  0x62, 0x07, 0xe0, 0xa4, 0xdc, 0x54, 0x56, 0x37, 0x6a, 0x33 } },
	{ 16384, { 0x08, 0x7e, 0x8b, 0x8b, 0xdc, 0x8b, 0x93, 0xf4, 0xf8, 0x32, 0x12,
		   0xc1, 0xd6, 0xc0, 0x1a, 0xf4, 0xc5, 0x5d, 0x3c, 0x1d, 0x34, 0x12,
		   0xda, 0x45, 0x11, 0x2e, 0x90, 0x3d, 0xf7, 0x97, 0xc1, 0xcd } },
	{ 32768, { 0xe9, 0x33, 0x40, 0x20, 0x34, 0x4b, 0xcb, 0x41, 0x8f, 0x16, 0xc5,
		   0x32, 0xa4, 0xfa, 0xd5, 0x46, 0x5e, 0xf5, 0x30, 0xcf, 0xf3, 0xea,
		   0xae, 0xe6, 0x41, 0x1b, 0xdd, 0xf5, 0x9e, 0x21, 0x0e, 0x50 } },
	{ 65536, { 0xdf, 0x2d, 0x0b, 0x4e, 0x19, 0x3f, 0xce, 0x63, 0x75, 0x9c, 0x79,
		   0x0e, 0x69, 0x56, 0xd5, 0xf7, 0x56, 0x86, 0x1f, 0x15, 0xd6, 0xdb,
		   0x64, 0xcc, 0x18, 0x99, 0xaf, 0xa8, 0x5e, 0x16, 0x27, 0xb9 } },
};

static bool find_blake2b_of_zeros(uint32_t sector_bytes, uint8_t ret[BTRFS_SUM_BYTES_MAX])
{
	for (size_t i = 0; i < G_N_ELEMENTS(blake2b_of_zeros); i++)
		if (blake2b_of_zeros[i].bytes == sector_bytes) {
			memcpy(ret, blake2b_of_zeros[i].sum, BTRFS_SUM_BYTES_MAX);
			return true;
		}

	return false;
}

bool btrfs_checksum_of_zeros(BtrfsChecksum checksum, uint32_t sector_bytes,
			     uint8_t ret[BTRFS_SUM_BYTES_MAX])
{
	g_autofree uint8_t *zeros = NULL;

	if (checksum == BTRFS_CHECKSUM_BLAKE2B)
		return find_blake2b_of_zeros(sector_bytes, ret);

	zeros = g_malloc0(sector_bytes);
	return btrfs_checksum_compute(checksum, zeros, sector_bytes, ret);
}
