/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"

/*
 * BlockSums - the sums by which blocks of files are found equal.
 *
 * They are those of the data that was read; or, of a file whose data has checksums, hashes of these
 * (ExtentSums): then one file may be read and another not, and they are found equal all the same.
 * Sums of the two kinds never meet, nor do they meet those of extents.
 *
 * Thread: the filesystem's worker.
 */
typedef struct BlockSums BlockSums;

/* @extents, borrowed, is NULL where no data has checksums.  @secret stays. */
BlockSums *block_sums_new(const uint8_t *secret, uint32_t block_bytes, ExtentSums *extents);
void block_sums_free(BlockSums *sums);

/* The sum of a block that was read; @by_checksum: of a file whose data has checksums.  Never 0. */
uint64_t block_sums_of_data(const BlockSums *sums, const uint8_t *block, bool by_checksum);

uint64_t block_sums_of_zeros(const BlockSums *sums, bool by_checksum);

/*
 * The sums of the blocks at the address @bytenr, which are not compressed, from their checksums; false if
 * any has none, or they cannot be had.
 */
bool block_sums_read(const BlockSums *sums, uint64_t bytenr, size_t n_blocks, uint64_t *ret);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlockSums, block_sums_free)
