/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Winnow - chooses anchors from a sequence of block sums (winnowing: Schleimer, Wilkerson, Aiken,
 * SIGMOD 2003).
 *
 * Every window of k consecutive sums is hashed; of every w consecutive hashes the smallest one that
 * occurs only once among them is kept.  The choice depends on nothing but those w + k - 1 blocks,
 * so wherever a stretch of that length is equal, the same position in it is chosen.  Among w hashes
 * that all occur more than once (constant and periodic data) the smallest is kept, once in w
 * positions: there any position of that digest serves.
 *
 * A break (zero blocks, a hole) ends a stretch; one too short for w hashes keeps its smallest.
 *
 * A plain value without pointers: it may be copied, and stored to be gone on with later.
 */
#define WINNOW_WINDOW_MAX        HASH_STORE_WINDOW_ANCHORS_MAX
#define WINNOW_ANCHOR_BLOCKS_MAX HASH_STORE_ANCHOR_BLOCKS_MAX

typedef struct {
	uint32_t anchor_blocks;  /* k, 1 to WINNOW_ANCHOR_BLOCKS_MAX */
	uint32_t window_anchors; /* w, 2 to WINNOW_WINDOW_MAX */
	uint64_t next_block;     /* block that the next sum belongs to */
	uint64_t n_sums;         /* of the current stretch */
	uint64_t n_hashes;       /* of the current stretch */
	uint64_t repeats_until;  /* up to this hash the last w contain a repeated one */
	uint64_t last_choice;    /* number of a hash in the stretch */
	uint64_t kept;           /* bit i: the i-th newest hash was kept */
	uint64_t sums[WINNOW_ANCHOR_BLOCKS_MAX];
	uint64_t hashes[WINNOW_WINDOW_MAX];
} Winnow;

/* Receives each anchor: @block is where it starts. */
typedef void (*WinnowKeep)(uint64_t digest, uint64_t block, void *data);

void winnow_init(Winnow *winnow, uint32_t anchor_blocks, uint32_t window_anchors);

/* Whether winnow_add() and winnow_break() can have made it, whatever k and w: one that was stored may be damaged. */
bool winnow_is_valid(const Winnow *winnow);

/* The sum of the next block. */
void winnow_add(Winnow *winnow, uint64_t sum, WinnowKeep keep, void *data);

/* @blocks blocks come that make no anchors: the stretch ends, the position moves on. */
void winnow_break(Winnow *winnow, uint64_t blocks, WinnowKeep keep, void *data);
