/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * BtrfsChecksum - with what a btrfs checks its data.
 *
 * Thread: any.
 */
typedef enum {
	BTRFS_CHECKSUM_CRC32C,
	BTRFS_CHECKSUM_XXHASH64,
	BTRFS_CHECKSUM_SHA256,
	BTRFS_CHECKSUM_BLAKE2B, /* of 256 bits */
	BTRFS_CHECKSUM_UNKNOWN, /* of a kernel newer than this program */
} BtrfsChecksum;

#define BTRFS_SUM_BYTES_MAX 32

/* From the number on the disk (BTRFS_CSUM_TYPE_*, <linux/btrfs_tree.h>). */
BtrfsChecksum btrfs_checksum_of_type(uint16_t type);

/* As mkfs.btrfs --csum calls it; "unknown". */
const char *btrfs_checksum_name(BtrfsChecksum checksum);

/*
 * The checksum of @length bytes as it stands in the checksum tree, the rest of @ret zeros.  False
 * where it cannot be computed: BLAKE2b, which no library here has, and unknown ones.
 */
bool btrfs_checksum_compute(BtrfsChecksum checksum, const void *data, size_t length,
			    uint8_t ret[BTRFS_SUM_BYTES_MAX]);

/*
 * The same of a block of zeros, of BLAKE2b, too, for blocks of 4 KiB to 64 KiB.  Equal sums of 4 bytes do not prove that
 * a block is of zeros.
 */
bool btrfs_checksum_of_zeros(BtrfsChecksum checksum, uint32_t sector_bytes,
			     uint8_t ret[BTRFS_SUM_BYTES_MAX]);
