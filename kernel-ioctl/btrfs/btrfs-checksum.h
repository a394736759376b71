/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * BtrfsChecksum - the algorithm with which a btrfs filesystem checks its data.
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

/* Convert the number on the disk (BTRFS_CSUM_TYPE_*, <linux/btrfs_tree.h>). */
BtrfsChecksum btrfs_checksum_of_type(uint16_t type);

/*
 * The checksum of @length bytes as stored in the csum tree; the rest of @ret is zeros.  False if it cannot be
 * computed: for BLAKE2b, which no library here has, and for unknown algorithms.
 */
bool btrfs_checksum_compute(BtrfsChecksum checksum, const void *data, size_t length,
			    uint8_t ret[BTRFS_SUM_BYTES_MAX]);

/*
 * The same for a block of 4 KiB to 64 KiB of zeros, with BLAKE2b, too.  An equal checksum of 4 bytes does not prove
 * that a block contains only zeros.
 */
bool btrfs_checksum_of_zeros(BtrfsChecksum checksum, uint32_t sector_bytes,
			     uint8_t ret[BTRFS_SUM_BYTES_MAX]);
