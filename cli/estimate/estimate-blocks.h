/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/estimate-result.h"
#include "cli/estimate/sample-bounds.h"

/*
 * EstimateBlocks - the space that deduplicating fixed blocks of each size, and identical files, would save.
 *
 * The blocks of a file are added in order.  Fixed blocks begin at multiples of their size in the file; the last
 * one ends with the file.  Blocks of zeros are excluded, as are fixed blocks of which another file already
 * shares a part.
 *
 * Thread: one at a time.
 */
typedef struct EstimateBlocks EstimateBlocks;

typedef enum {
	ESTIMATE_BLOCK_DATA,
	ESTIMATE_BLOCK_ZEROS, /* that take space */
	ESTIMATE_BLOCK_HOLE,
	ESTIMATE_BLOCK_UNKNOWN, /* not read, or met before */
} EstimateBlockKind;

EstimateBlocks *estimate_blocks_new(const EstimateTask *task);
void estimate_blocks_free(EstimateBlocks *blocks);

void estimate_blocks_begin_file(EstimateBlocks *blocks);

/* Add the next block of the file.  @sum is used for data alone. */
bool estimate_blocks_add(EstimateBlocks *blocks, EstimateBlockKind kind, uint64_t sum,
			 GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Add many blocks of a kind that has no sum. */
bool estimate_blocks_skip(EstimateBlocks *blocks, EstimateBlockKind kind, uint64_t n_blocks,
			  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Add a compressed extent that a file references: @n_blocks on the disk, with a digest over all of them. */
bool estimate_blocks_add_compressed(EstimateBlocks *blocks, uint64_t digest, uint64_t n_blocks,
				    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* End the file, which has @size_bytes. */
bool estimate_blocks_end_file(EstimateBlocks *blocks, uint64_t size_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* One count per block size, followed by one for files. */
#define ESTIMATE_BLOCK_COUNTS (ESTIMATE_BLOCK_SIZES + 1)

bool estimate_blocks_count(EstimateBlocks *blocks, SampleCount ret[ESTIMATE_BLOCK_COUNTS],
			   GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EstimateBlocks, estimate_blocks_free)
