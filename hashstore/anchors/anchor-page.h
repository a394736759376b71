/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * AnchorPage - sorted anchors packed into one row, which fills one SQLite page.
 *
 * The format is a header of 22 bytes, low bytes first, and a stream of bits, low bits first:
 *
 *   bytes  header
 *   4      checksum of all that follows (XXH3)
 *   2      number of entries, and the bit ANCHOR_PAGE_PACKED
 *   8      the first digest
 *   4      the least object
 *   1      zero bits at the end of each difference to the first digest, which are left out
 *   1      low bits of such a difference; the others are high bits
 *   1      bits of an object, as the difference to the least one
 *   1      bits of a short block
 *
 * An entry is
 *   - the difference of the high bits to those of the previous entry, as so many zeros and a one (Elias-Fano)
 *   - the low bits
 *   - the object
 *   - the block plus one, so that ANCHOR_WHOLE_BLOCK is 0.  A one, and the bits of a short block; or a zero for each
 *     further bit of its length, a one, and its bits without the highest one.
 *
 * Typical entries take 7 bytes.
 *
 * Stores before version 17 have pages without ANCHOR_PAGE_PACKED.  They have no header behind the number of entries.
 * An entry is a byte with the lengths of three numbers, and these: the difference to the previous digest, the object,
 * and the block plus one.
 *
 * Thread: any.
 */
#define ANCHOR_PAGE_PACKED 0x8000

/*
 * A leaf cell holds 4061 bytes of record without overflow in a page of 4096 bytes
 * (https://sqlite.org/fileformat2.html, U - 35).  The record's header takes 4.
 */
#define ANCHOR_PAGE_BYTES 4057

/* The limit of entries per page, which bounds the memory of an unpacked one. */
#define ANCHOR_PAGE_ENTRIES 1024

/* Bytes behind a page's end that may be read or written. */
#define ANCHOR_PAGE_SLACK 24

/* The most bits of a block plus one. */
#define ANCHOR_PAGE_BLOCK_BITS 32

typedef struct {
	/* When sealed. */
	uint8_t bytes[ANCHOR_PAGE_BYTES + ANCHOR_PAGE_SLACK];
	size_t n_bytes;

	unsigned n_entries;
	Anchor entries[ANCHOR_PAGE_ENTRIES];
	uint64_t differences; /* bits in which differences to the first digest have ones */
	uint32_t min_object;
	uint32_t max_object;
	unsigned n_blocks[ANCHOR_PAGE_BLOCK_BITS + 1]; /* by their bits */
	unsigned short_bits;                           /* as chosen last */
	uint32_t blocks_cost;                          /* bits of all blocks with that */
} AnchorPage;

void anchor_page_begin(AnchorPage *page);

/* False if @anchor does not fit.  Its digest must not be less than the previous one. */
bool anchor_page_add(AnchorPage *page, const Anchor *anchor);

/* Complete a page that has entries: bytes and n_bytes are then ready to be stored. */
void anchor_page_seal(AnchorPage *page);

/*
 * Unpack into @ret, an array of ANCHOR_PAGE_ENTRIES.  ANCHOR_PAGE_SLACK bytes behind @bytes must be
 * readable.  False if the page is invalid or empty.  Digests rise, and are those of anchor_digest().
 */
bool anchor_page_read(const uint8_t *bytes, size_t n_bytes, Anchor *ret, unsigned *ret_n);

/* The page has the format of stores before version 17. */
bool anchor_page_is_plain(const uint8_t *bytes, size_t n_bytes);
