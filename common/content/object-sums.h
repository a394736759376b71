/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/winnow.h"

/*
 * ObjectSums - turns the block sums of one object, in order, into what the store keeps: its
 * anchors, the starts of its long runs of zeros, and one digest over all of it.
 *
 * Holes and zero blocks count alike, so a sparse file and its written-out twin have one digest.
 * A plain value without pointers: it may be stored and gone on with in a later pass.
 */
#define OBJECT_SUMS_TOKENS 512

typedef struct {
	Winnow winnow;
	uint64_t zero_run_blocks;  /* a run of so many zero blocks is worth a hole */
	uint64_t zeros;            /* zero blocks and holes since the last other block */
	uint64_t data_zeros;       /* of them, zero blocks since the last hole or other block */
	uint64_t data_zeros_start; /* block where these start */
	uint64_t n_data;           /* blocks that are not zero, so far */
	uint64_t chain;            /* digest of all full token buffers */
	uint64_t n_tokens;
	uint64_t tokens[OBJECT_SUMS_TOKENS];
} ObjectSums;

typedef struct {
	WinnowKeep anchor;                         /* an anchor */
	void (*zeros)(uint64_t block, void *data); /* a long run of zero blocks starts */
	void *data;
} ObjectSumsSink;

/* With @window_anchors 0 there will be no anchors and no starts of zeros, only the digest. */
void object_sums_init(ObjectSums *sums, uint32_t anchor_blocks, uint32_t window_anchors,
		      uint64_t zero_run_blocks);

/*
 * Whether it is what object_sums_init() with these numbers, or with @window_anchors 0, and then @blocks blocks
 * can have made: one that was stored may be damaged.
 */
bool object_sums_may_go_on(const ObjectSums *sums, uint32_t anchor_blocks, uint32_t window_anchors,
			   uint64_t zero_run_blocks, uint64_t blocks);

/* The next block's sum; it is not a block of zeros. */
void object_sums_add(ObjectSums *sums, uint64_t sum, const ObjectSumsSink *sink);

/* The next @blocks blocks are zeros that take space. */
void object_sums_add_zeros(ObjectSums *sums, uint64_t blocks, const ObjectSumsSink *sink);

/* The next @blocks blocks are a hole, or allocated and unwritten. */
void object_sums_add_hole(ObjectSums *sums, uint64_t blocks, const ObjectSumsSink *sink);

/* Whether there are anchors, or only the digest. */
bool object_sums_have_anchors(const ObjectSums *sums);

/* Blocks so far. */
uint64_t object_sums_blocks(const ObjectSums *sums);

/* No more blocks come: the digest over the object, whose size is @size_bytes.  Never 0. */
uint64_t object_sums_finish(ObjectSums *sums, uint64_t size_bytes, const ObjectSumsSink *sink);
