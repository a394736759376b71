/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchor-page.h"

#include "hashstore/anchors/anchor-sort.h"

#include <glib.h>
#include <string.h>
#include <xxhash.h>

/* Places in the header. */
#define AT_COUNT       4
#define AT_DIGEST      6
#define AT_OBJECT      14
#define AT_SHIFT       18
#define AT_LOW_BITS    19
#define AT_OBJECT_BITS 20
#define AT_SHORT_BITS  21
#define HEADER_BYTES   22

/* The header of a plain page, and the bits of the control byte of its entries. */
#define PLAIN_HEADER_BYTES 6
#define PLAIN_OBJECT_SHIFT 4
#define PLAIN_BLOCK_SHIFT  6

/* The most bits that one load gives, whatever the position. */
#define LOAD_BITS 56

/* How entries are packed. */
typedef struct {
	uint64_t digest; /* the first one */
	uint32_t object; /* the least one */
	unsigned shift;
	unsigned low_bits;
	unsigned object_bits;
	unsigned short_bits;
} Packing;

/* Positions in a stream of bits. */
typedef struct {
	uint8_t *bytes;
	size_t at;
} Writer;

typedef struct {
	const uint8_t *bytes;
	size_t at, end;
} Reader;

static inline unsigned bits_of(uint64_t number)
{
	return number == 0 ? 0 : 64 - (unsigned)__builtin_clzll(number);
}

static inline uint64_t ones(unsigned n_bits)
{
	return n_bits == 0 ? 0 : UINT64_MAX >> (64 - n_bits);
}

static inline void store(uint8_t *to, uint64_t number)
{
	uint64_t little = GUINT64_TO_LE(number);

	memcpy(to, &little, sizeof(little));
}

static inline uint64_t load(const uint8_t *from)
{
	uint64_t little;

	memcpy(&little, from, sizeof(little));

	return GUINT64_FROM_LE(little);
}

static uint32_t checksum(const uint8_t *bytes, size_t n_bytes)
{
	return (uint32_t)XXH3_64bits(bytes + AT_COUNT, n_bytes - AT_COUNT);
}

void anchor_page_begin(AnchorPage *page)
{
	page->n_bytes = 0;
	page->n_entries = 0;
	page->differences = 0;
	page->min_object = UINT32_MAX;
	page->max_object = 0;
	memset(page->n_blocks, 0, sizeof(page->n_blocks));
	page->short_bits = 0;
	page->blocks_cost = 0;
}

/* The bits that a block of @bits takes, if short ones have @short_bits. */
static inline unsigned block_cost(unsigned bits, unsigned short_bits)
{
	return bits <= short_bits ? 1 + short_bits : 2 * bits - short_bits;
}

/* Choose the number of bits for which blocks are smallest; the present one, unless another is better. */
static void choose_short_bits(AnchorPage *page)
{
	for (unsigned short_bits = 0; short_bits <= ANCHOR_PAGE_BLOCK_BITS; short_bits++) {
		uint32_t cost = 0;

		for (unsigned bits = 0; bits <= ANCHOR_PAGE_BLOCK_BITS; bits++)
			cost += page->n_blocks[bits] * block_cost(bits, short_bits);
		if (cost < page->blocks_cost) {
			page->blocks_cost = cost;
			page->short_bits = short_bits;
		}
	}
}

/* The logarithm of @range / @n, rounded down; 0 if it is less. */
static inline unsigned choose_low_bits(uint64_t range, size_t n)
{
	unsigned bits;

	if (range < n)
		return 0;
	bits = bits_of(range) - bits_of(n);

	return range >> bits < n ? bits - 1 : bits;
}

/* The smallest packing of the entries, given the bits of short blocks.  Returns its bytes. */
static size_t choose_packing(const AnchorPage *page, Packing *ret)
{
	size_t n = page->n_entries;
	uint64_t range;

	ret->digest = page->entries[0].digest;
	ret->object = page->min_object;
	ret->shift = page->differences ? (unsigned)__builtin_ctzll(page->differences) : 0;
	range = (page->entries[n - 1].digest - ret->digest) >> ret->shift;
	ret->low_bits = choose_low_bits(range, n);
	ret->object_bits = bits_of(page->max_object - page->min_object);
	ret->short_bits = page->short_bits;

	return HEADER_BYTES + (n * (ret->low_bits + 1 + ret->object_bits) +
			       (size_t)(range >> ret->low_bits) + page->blocks_cost + 7) /
				      8;
}

static bool fits(AnchorPage *page)
{
	Packing packing;

	if (choose_packing(page, &packing) <= ANCHOR_PAGE_BYTES)
		return true;

	choose_short_bits(page);
	return choose_packing(page, &packing) <= ANCHOR_PAGE_BYTES;
}

bool anchor_page_add(AnchorPage *page, const Anchor *anchor)
{
	uint64_t differences = page->differences;
	uint32_t min_object = page->min_object, max_object = page->max_object;
	unsigned block_bits = bits_of(anchor->block + 1);

	if (page->n_entries == ANCHOR_PAGE_ENTRIES)
		return false;

	page->entries[page->n_entries++] = *anchor;
	page->differences |= anchor->digest - page->entries[0].digest;
	page->min_object = MIN(min_object, anchor->object);
	page->max_object = MAX(max_object, anchor->object);
	page->n_blocks[block_bits]++;
	page->blocks_cost += block_cost(block_bits, page->short_bits);
	if (fits(page))
		return true;

	page->n_entries--;
	page->differences = differences;
	page->min_object = min_object;
	page->max_object = max_object;
	page->n_blocks[block_bits]--;
	page->blocks_cost -= block_cost(block_bits, page->short_bits);

	return false;
}

/* Write the low @n_bits of @number, up to LOAD_BITS; bytes behind are zeros. */
static void write_bits(Writer *writer, uint64_t number, unsigned n_bits)
{
	uint8_t *to = writer->bytes + writer->at / 8;

	store(to, *to | (number & ones(n_bits)) << writer->at % 8);
	writer->at += n_bits;
}

static void write_long(Writer *writer, uint64_t number, unsigned n_bits)
{
	if (n_bits > 32) {
		write_bits(writer, number, 32);
		number >>= 32;
		n_bits -= 32;
	}
	write_bits(writer, number, n_bits);
}

/* Write @number zeros and a one. */
static void write_unary(Writer *writer, uint64_t number)
{
	for (; number >= LOAD_BITS; number -= LOAD_BITS)
		write_bits(writer, 0, LOAD_BITS);
	write_bits(writer, UINT64_C(1) << number, (unsigned)number + 1);
}

static void write_block(Writer *writer, uint32_t block, unsigned short_bits)
{
	unsigned n_bits = bits_of(block);

	if (n_bits <= short_bits) {
		write_unary(writer, 0);
		write_bits(writer, block, short_bits);
	} else {
		write_unary(writer, n_bits - short_bits);
		write_bits(writer, block, n_bits - 1);
	}
}

static void write_header(AnchorPage *page, const Packing *packing)
{
	uint8_t *bytes = page->bytes;

	store(bytes + AT_COUNT, page->n_entries | ANCHOR_PAGE_PACKED);
	store(bytes + AT_DIGEST, packing->digest);
	store(bytes + AT_OBJECT, packing->object);
	bytes[AT_SHIFT] = (uint8_t)packing->shift;
	bytes[AT_LOW_BITS] = (uint8_t)packing->low_bits;
	bytes[AT_OBJECT_BITS] = (uint8_t)packing->object_bits;
	bytes[AT_SHORT_BITS] = (uint8_t)packing->short_bits;
	bytes[HEADER_BYTES] = 0;
}

static void write_entries(AnchorPage *page, const Packing *packing)
{
	Writer writer = { page->bytes, 8 * (size_t)HEADER_BYTES };
	uint64_t last_high = 0;

	for (unsigned i = 0; i < page->n_entries; i++) {
		const Anchor *entry = &page->entries[i];
		uint64_t number = (entry->digest - packing->digest) >> packing->shift;
		uint64_t high = number >> packing->low_bits;

		write_unary(&writer, high - last_high);
		write_long(&writer, number, packing->low_bits);
		write_bits(&writer, entry->object - packing->object, packing->object_bits);
		write_block(&writer, entry->block + 1, packing->short_bits);
		last_high = high;
	}
	page->n_bytes = (writer.at + 7) / 8;
}

void anchor_page_seal(AnchorPage *page)
{
	Packing packing;
	uint32_t sum;

	choose_short_bits(page);
	choose_packing(page, &packing);
	write_header(page, &packing);
	write_entries(page, &packing);
	sum = GUINT32_TO_LE(checksum(page->bytes, page->n_bytes));
	memcpy(page->bytes, &sum, sizeof(sum));
}

/* Read up to LOAD_BITS.  Behind the end, bits are of the slack. */
static inline uint64_t read_bits(Reader *reader, unsigned n_bits)
{
	uint64_t bits = load(reader->bytes + reader->at / 8) >> reader->at % 8;

	reader->at += n_bits;

	return bits & ones(n_bits);
}

static inline uint64_t read_long(Reader *reader, unsigned n_bits)
{
	uint64_t low;

	if (n_bits <= LOAD_BITS)
		return read_bits(reader, n_bits);
	low = read_bits(reader, 32);

	return low | read_bits(reader, n_bits - 32) << 32;
}

/* Read zeros and a one; *ret is the number of zeros.  False at the end. */
static inline bool read_unary(Reader *reader, uint64_t *ret)
{
	size_t begin = reader->at;

	while (reader->at < reader->end) {
		uint64_t bits =
			load(reader->bytes + reader->at / 8) >> reader->at % 8 & ones(LOAD_BITS);

		if (bits != 0) {
			reader->at += (unsigned)__builtin_ctzll(bits);
			*ret = reader->at++ - begin;
			return reader->at <= reader->end;
		}
		reader->at += LOAD_BITS;
	}

	return false;
}

static inline bool read_block(Reader *reader, unsigned short_bits, uint32_t *ret)
{
	uint64_t further;
	unsigned n_bits;

	if (!read_unary(reader, &further) || further > ANCHOR_PAGE_BLOCK_BITS - short_bits)
		return false;

	if (further == 0) {
		*ret = (uint32_t)read_bits(reader, short_bits);
	} else {
		n_bits = short_bits + (unsigned)further - 1;
		*ret = (uint32_t)(read_bits(reader, n_bits) | UINT64_C(1) << n_bits);
	}

	return reader->at <= reader->end;
}

static bool read_header(const uint8_t *bytes, Packing *ret)
{
	ret->digest = load(bytes + AT_DIGEST);
	ret->object = (uint32_t)load(bytes + AT_OBJECT);
	ret->shift = bytes[AT_SHIFT];
	ret->low_bits = bytes[AT_LOW_BITS];
	ret->object_bits = bytes[AT_OBJECT_BITS];
	ret->short_bits = bytes[AT_SHORT_BITS];

	return ret->shift + ret->low_bits < 64 && ret->object_bits <= 32 &&
	       ret->short_bits <= ANCHOR_PAGE_BLOCK_BITS;
}

/* Entries whose numbers wrap around are refused, as far as they are out of order. */
static bool read_entries(Reader *reader, const Packing *packing, Anchor *ret, unsigned n_entries)
{
	uint64_t last = packing->digest, high = 0;

	for (unsigned i = 0; i < n_entries; i++) {
		uint64_t step;
		uint32_t block;

		if (!read_unary(reader, &step))
			return false;
		high += step;
		ret[i].digest = packing->digest +
				((high << packing->low_bits | read_long(reader, packing->low_bits))
				 << packing->shift);
		ret[i].object = packing->object + (uint32_t)read_bits(reader, packing->object_bits);
		if (reader->at > reader->end || !read_block(reader, packing->short_bits, &block) ||
		    ret[i].digest < last)
			return false;
		ret[i].block = block - 1;
		last = ret[i].digest;
	}

	return reader->end - reader->at < 8;
}

static bool read_packed(const uint8_t *bytes, size_t n_bytes, Anchor *ret, unsigned n_entries)
{
	Reader reader = { bytes, 8 * (size_t)HEADER_BYTES, 8 * n_bytes };
	Packing packing;

	return n_bytes > HEADER_BYTES && read_header(bytes, &packing) &&
	       read_entries(&reader, &packing, ret, n_entries);
}

/* @n_bytes is 1 to 8. */
static inline uint64_t load_bytes(const uint8_t *from, unsigned n_bytes)
{
	return load(from) & ones(8 * n_bytes);
}

/* Digests are shortened, so some become equal: their entries are sorted again. */
static void shorten(Anchor *anchors, unsigned n)
{
	bool is_sorted = true;

	for (unsigned i = 0; i < n; i++) {
		anchors[i].digest = anchor_digest(anchors[i].digest);
		is_sorted &= i == 0 || anchor_compare(&anchors[i - 1], &anchors[i]) <= 0;
	}
	if (!is_sorted)
		anchor_sort(anchors, n);
}

static bool read_plain(const uint8_t *bytes, size_t n_bytes, Anchor *ret, unsigned n_entries)
{
	const uint8_t *from = bytes + PLAIN_HEADER_BYTES;
	const uint8_t *end = bytes + n_bytes;
	uint64_t digest = 0;

	for (unsigned i = 0; i < n_entries; i++) {
		unsigned control, digest_bytes, object_bytes, block_bytes;

		if (from >= end)
			return false;
		control = *from++;
		digest_bytes = control & 0xf;
		object_bytes = (control >> PLAIN_OBJECT_SHIFT & 3) + 1;
		block_bytes = (control >> PLAIN_BLOCK_SHIFT & 3) + 1;
		if (digest_bytes > 8)
			return false;
		if (digest_bytes > 0)
			digest += load_bytes(from, digest_bytes);
		from += digest_bytes;
		ret[i].digest = digest;
		ret[i].object = (uint32_t)load_bytes(from, object_bytes);
		from += object_bytes;
		ret[i].block = (uint32_t)load_bytes(from, block_bytes) - 1;
		from += block_bytes;
	}
	if (from != end)
		return false;
	shorten(ret, n_entries);

	return true;
}

static unsigned count_of(const uint8_t *bytes)
{
	return bytes[AT_COUNT] | (unsigned)bytes[AT_COUNT + 1] << 8;
}

bool anchor_page_is_plain(const uint8_t *bytes, size_t n_bytes)
{
	return n_bytes >= PLAIN_HEADER_BYTES && !(count_of(bytes) & ANCHOR_PAGE_PACKED);
}

bool anchor_page_read(const uint8_t *bytes, size_t n_bytes, Anchor *ret, unsigned *ret_n)
{
	unsigned n_entries;
	uint32_t sum;

	if (n_bytes < PLAIN_HEADER_BYTES || n_bytes > ANCHOR_PAGE_BYTES)
		return false;
	memcpy(&sum, bytes, sizeof(sum));
	n_entries = count_of(bytes) & ~(unsigned)ANCHOR_PAGE_PACKED;
	if (n_entries == 0 || n_entries > ANCHOR_PAGE_ENTRIES ||
	    GUINT32_FROM_LE(sum) != checksum(bytes, n_bytes))
		return false;

	*ret_n = n_entries;
	return anchor_page_is_plain(bytes, n_bytes) ? read_plain(bytes, n_bytes, ret, n_entries)
						    : read_packed(bytes, n_bytes, ret, n_entries);
}
