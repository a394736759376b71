/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/winnow.h"

/*
 * ObjectSums - computes the anchors of an object, the starts of its long runs of zeros, and a digest of the
 * whole, from its block sums in order.
 *
 * Holes and zero blocks count alike, so a sparse file and its written twin have one digest.  It is a plain
 * value without pointers: a store can keep it, and a later pass continues it.
 */
#define OBJECT_SUMS_TOKENS 512

typedef struct {
	Winnow winnow;
	uint64_t zero_run_blocks;  /* zero blocks of a run that is worth a hole */
	uint64_t zeros;            /* zero blocks and holes since the last other block */
	uint64_t data_zeros;       /* of them, zero blocks since the last hole or other block */
	uint64_t data_zeros_start; /* the block where these start */
	uint64_t n_data;           /* blocks so far that are not zero */
	uint64_t chain;            /* digest of all full token buffers */
	uint64_t n_tokens;
	uint64_t tokens[OBJECT_SUMS_TOKENS];
} ObjectSums;

typedef struct {
	WinnowKeep anchor;                         /* an anchor */
	void (*zeros)(uint64_t block, void *data); /* a long run of zero blocks starts */
	void *data;
} ObjectSumsSink;

/* With @window_anchors 0 it computes only the digest, without anchors and starts of zeros. */
void object_sums_init(ObjectSums *sums, uint32_t anchor_blocks, uint32_t window_anchors,
		      uint64_t zero_run_blocks);

/*
 * False if @sums cannot come from object_sums_init() with these numbers, or with @window_anchors 0, and
 * @blocks blocks.  For stored values, which may be damaged.
 */
bool object_sums_may_go_on(const ObjectSums *sums, uint32_t anchor_blocks, uint32_t window_anchors,
			   uint64_t zero_run_blocks, uint64_t blocks);

/* Add the sum of the next block, which is not zeros. */
void object_sums_add(ObjectSums *sums, uint64_t sum, const ObjectSumsSink *sink);

/* Add @blocks blocks of zeros that take space. */
void object_sums_add_zeros(ObjectSums *sums, uint64_t blocks, const ObjectSumsSink *sink);

/* Add @blocks blocks of a hole, or of unwritten space. */
void object_sums_add_hole(ObjectSums *sums, uint64_t blocks, const ObjectSumsSink *sink);

/* False if it computes only the digest. */
bool object_sums_have_anchors(const ObjectSums *sums);

/* The number of blocks so far. */
uint64_t object_sums_blocks(const ObjectSums *sums);

/* End the object, whose size is @size_bytes.  Returns its digest, never 0. */
uint64_t object_sums_finish(ObjectSums *sums, uint64_t size_bytes, const ObjectSumsSink *sink);
