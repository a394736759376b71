/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchor-page.h"

#include <glib.h>
#include <string.h>
#include <xxhash.h>

#define HEADER_BYTES 6

/* Bits of the control byte: 4 bits for 0 to 8 bytes of digest, 2 bits each for 1 to 4 bytes of the others. */
#define OBJECT_SHIFT 4
#define BLOCK_SHIFT  6

static inline unsigned bytes_of(uint64_t number)
{
	return number == 0 ? 0 : (71 - (unsigned)__builtin_clzll(number)) / 8;
}

/* Writes eight bytes; the caller counts those that matter. */
static inline void store(uint8_t *to, uint64_t number)
{
	uint64_t little = GUINT64_TO_LE(number);

	memcpy(to, &little, sizeof(little));
}

/* @n_bytes is 1 to 8; eight bytes are read. */
static inline uint64_t load(const uint8_t *from, unsigned n_bytes)
{
	uint64_t little;

	memcpy(&little, from, sizeof(little));

	return GUINT64_FROM_LE(little) & (UINT64_MAX >> (64 - 8 * n_bytes));
}

static uint32_t checksum(const uint8_t *bytes, size_t n_bytes)
{
	return (uint32_t)XXH3_64bits(bytes + 4, n_bytes - 4);
}

void anchor_page_begin(AnchorPage *page)
{
	page->n_bytes = HEADER_BYTES;
	page->n_entries = 0;
	page->last_digest = 0;
}

bool anchor_page_add(AnchorPage *page, const Anchor *anchor)
{
	uint64_t difference = anchor->digest - page->last_digest;
	uint32_t block = anchor->block + 1;
	unsigned digest_bytes = bytes_of(difference);
	unsigned object_bytes = bytes_of(anchor->object | 1);
	unsigned block_bytes = bytes_of(block | 1);
	uint8_t *to = page->bytes + page->n_bytes;
	size_t n_bytes = 1 + digest_bytes + object_bytes + block_bytes;

	if (page->n_bytes + n_bytes > ANCHOR_PAGE_BYTES || page->n_entries == ANCHOR_PAGE_ENTRIES)
		return false;

	*to++ = (uint8_t)(digest_bytes | (object_bytes - 1) << OBJECT_SHIFT |
			  (block_bytes - 1) << BLOCK_SHIFT);
	store(to, difference);
	store(to + digest_bytes, anchor->object);
	store(to + digest_bytes + object_bytes, block);
	page->n_bytes += n_bytes;
	page->n_entries++;
	page->last_digest = anchor->digest;

	return true;
}

void anchor_page_seal(AnchorPage *page)
{
	uint32_t sum;

	page->bytes[4] = (uint8_t)page->n_entries;
	page->bytes[5] = (uint8_t)(page->n_entries >> 8);
	sum = GUINT32_TO_LE(checksum(page->bytes, page->n_bytes));
	memcpy(page->bytes, &sum, sizeof(sum));
}

bool anchor_page_read(const uint8_t *bytes, size_t n_bytes, Anchor *ret, unsigned *ret_n)
{
	const uint8_t *from = bytes + HEADER_BYTES;
	const uint8_t *end = bytes + n_bytes;
	uint64_t digest = 0;
	unsigned n_entries;
	uint32_t sum;

	if (n_bytes < HEADER_BYTES || n_bytes > ANCHOR_PAGE_BYTES)
		return false;
	memcpy(&sum, bytes, sizeof(sum));
	n_entries = bytes[4] | (unsigned)bytes[5] << 8;
	if (n_entries == 0 || n_entries > ANCHOR_PAGE_ENTRIES ||
	    GUINT32_FROM_LE(sum) != checksum(bytes, n_bytes))
		return false;

	for (unsigned i = 0; i < n_entries && from < end; i++) {
		unsigned control = *from++;
		unsigned digest_bytes = control & 0xf;
		unsigned object_bytes = (control >> OBJECT_SHIFT & 3) + 1;
		unsigned block_bytes = (control >> BLOCK_SHIFT & 3) + 1;

		if (digest_bytes > 8)
			return false;
		if (digest_bytes > 0)
			digest += load(from, digest_bytes);
		from += digest_bytes;
		ret[i].digest = digest;
		ret[i].object = (uint32_t)load(from, object_bytes);
		from += object_bytes;
		ret[i].block = (uint32_t)load(from, block_bytes) - 1;
		from += block_bytes;
		if (i + 1 == n_entries && from == end) {
			*ret_n = n_entries;
			return true;
		}
	}

	return false;
}
