/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Winnow - chooses anchors from a sequence of block sums (winnowing: Schleimer, Wilkerson, Aiken, SIGMOD
 * 2003).
 *
 * Every window of k consecutive sums is hashed.  Of every w consecutive hashes, the smallest one that is
 * unique among them is kept.  The choice depends only on those w + k - 1 blocks, so equal runs of that length
 * have the same anchor.  If all w hashes are repeated (constant and periodic data), the smallest is kept once
 * in w positions: any position of that digest serves.
 *
 * A break (zero blocks, a hole) ends a sequence.  A sequence too short for w hashes keeps its smallest one.
 *
 * It is a plain value without pointers: it can be copied, stored, and continued later.
 */
#define WINNOW_WINDOW_MAX        HASH_STORE_WINDOW_ANCHORS_MAX
#define WINNOW_ANCHOR_BLOCKS_MAX HASH_STORE_ANCHOR_BLOCKS_MAX

typedef struct {
	uint32_t anchor_blocks;  /* k, 1 to WINNOW_ANCHOR_BLOCKS_MAX */
	uint32_t window_anchors; /* w, 2 to WINNOW_WINDOW_MAX */
	uint64_t next_block;     /* block of the next sum */
	uint64_t n_sums;         /* of the current sequence */
	uint64_t n_hashes;       /* of the current sequence */
	uint64_t repeats_until;  /* up to this hash the last w contain a repeated one */
	uint64_t last_choice;    /* number of a hash in the sequence */
	uint64_t kept;           /* bit i: the i-th newest hash was kept */
	uint64_t sums[WINNOW_ANCHOR_BLOCKS_MAX];
	uint64_t hashes[WINNOW_WINDOW_MAX];
} Winnow;

/* Receives each anchor, which starts at @block. */
typedef void (*WinnowKeep)(uint64_t digest, uint64_t block, void *data);

void winnow_init(Winnow *winnow, uint32_t anchor_blocks, uint32_t window_anchors);

/*
 * False if winnow_add() and winnow_break() cannot have made it, for any k and w.  For stored values, which may
 * be damaged.
 */
bool winnow_is_valid(const Winnow *winnow);

/* Add the sum of the next block. */
void winnow_add(Winnow *winnow, uint64_t sum, WinnowKeep keep, void *data);

/* Pass @blocks blocks that have no anchors: the sequence ends, the position advances. */
void winnow_break(Winnow *winnow, uint64_t blocks, WinnowKeep keep, void *data);
