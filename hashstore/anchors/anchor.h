/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * Anchor - a position chosen by content: the digest of the few block sums that start at a block.
 *
 * Equal data has equal anchors at any block offset.  Segments and groups also hold two kinds of entry that are
 * no such positions: the digest of a whole object, and the start of a run of zero blocks.
 */
typedef struct Anchor {
	uint64_t digest; /* keyed with the store's secret; ANCHOR_ZEROS_DIGEST for a run of zeros */
	uint32_t object; /* id of an object of this store */
	uint32_t block;  /* in filesystem blocks, or ANCHOR_WHOLE_BLOCK */
} Anchor;

/* The digest covers the whole object. */
#define ANCHOR_WHOLE_BLOCK UINT32_MAX

/* The number of blocks of an object in which anchors can lie: 16 TiB with blocks of 4 KiB. */
#define ANCHOR_BLOCKS UINT64_C(0xffffffff)

/* The block starts a run of zero blocks.  No other anchor has this digest. */
#define ANCHOR_ZEROS_DIGEST UINT64_C(0)

/*
 * The part of @digest that stores keep: its upper 48 bits.  Digests below 2^32 stay whole, so that only
 * ANCHOR_ZEROS_DIGEST becomes ANCHOR_ZEROS_DIGEST.  The order of digests stays the same, but some become equal.
 */
static inline uint64_t anchor_digest(uint64_t digest)
{
	return digest >> 32 == 0 ? digest : digest & ~UINT64_C(0xffff);
}
