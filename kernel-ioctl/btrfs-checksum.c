/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs-checksum.h"

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

const char *btrfs_checksum_name(BtrfsChecksum checksum)
{
	switch (checksum) {
	case BTRFS_CHECKSUM_CRC32C:
		return "crc32c";
	case BTRFS_CHECKSUM_XXHASH64:
		return "xxhash";
	case BTRFS_CHECKSUM_SHA256:
		return "sha256";
	case BTRFS_CHECKSUM_BLAKE2B:
		return "blake2";
	case BTRFS_CHECKSUM_UNKNOWN:
		break;
	}
	return "unknown";
}

typedef struct {
	uint32_t of_byte[256];
} Crc32cTable;

static gpointer make_crc32c_table(gpointer unused)
{
	static Crc32cTable table;

	for (uint32_t byte = 0; byte < G_N_ELEMENTS(table.of_byte); byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CRC32C_POLYNOMIAL : 0);
		table.of_byte[byte] = crc;
	}
	return &table;
}

static uint32_t crc32c(const uint8_t *data, size_t length)
{
	static GOnce made = G_ONCE_INIT;
	const Crc32cTable *table = g_once(&made, make_crc32c_table, NULL);
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < length; i++)
		crc = crc >> 8 ^ table->of_byte[(crc ^ data[i]) & 0xff];
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

bool btrfs_checksum_of_zeros(BtrfsChecksum checksum, uint32_t sector_bytes,
			     uint8_t ret[BTRFS_SUM_BYTES_MAX])
{
	g_autofree uint8_t *zeros = g_malloc0(sector_bytes);

	return btrfs_checksum_compute(checksum, zeros, sector_bytes, ret);
}
