/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"

/*
 * BlockSums - the block sums of files.
 *
 * A sum is a hash of the data, or of the checksum if the file's data has checksums (ExtentSums).  In the
 * second case, a file that is read and one that is not are found equal.  Sums of the two kinds never match,
 * nor do they match sums of extents.
 *
 * Thread: the filesystem's worker.
 */
typedef struct BlockSums BlockSums;

/*
 * @extents, borrowed, is NULL if no data has checksums.  @about is that of the store, and must outlive the
 * BlockSums.
 *
 * With a fleet's key, sums of XFS are those that a btrfs filesystem with CRC-32C has of the same data.
 */
BlockSums *block_sums_new(const HashStoreAbout *about, ExtentSums *extents);
void block_sums_free(BlockSums *sums);

/* The sum of a block that was read, never 0.  @by_checksum: the data of its file has checksums. */
uint64_t block_sums_of_data(const BlockSums *sums, const uint8_t *block, bool by_checksum);

uint64_t block_sums_of_zeros(const BlockSums *sums, bool by_checksum);

/*
 * Compute the sums of the uncompressed blocks at the address @bytenr from their checksums.  False if any block
 * has none, or they cannot be read.
 */
bool block_sums_read(const BlockSums *sums, uint64_t bytenr, size_t n_blocks, uint64_t *ret);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockSums, block_sums_free)
