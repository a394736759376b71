/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchor-page.h"
#include "tests/fuzz/fuzz.h"

#include <glib.h>
#include <string.h>
#include <xxhash.h>

/* The checksum is over what follows it: the number of entries, in two bytes, and these. */
#define CHECKSUM_BYTES 4
#define COUNT_BYTES    6

const char *const fuzz_seeds[] = {
	/* Plain: the digest of one entry in 1, 8, 9 and 15 bytes; two entries. */
	"Fxxxx\x01@\x01"
	"123",
	"Fxxxx\x01@\xf8"
	"12345678abcdABCD",
	"Fxxxx\x01@\x09"
	"123456789ab",
	"Fxxxx\x01@\xff"
	"123456789012345abcdABCD",
	"Fxxxx\x02@\x01"
	"123\x11"
	"123",
	/* Packed: numbers of low bits, bits of objects and of blocks that are right and too large. */
	"Fxxxx\x02\x80"
	"12345678abcd\x10\x08\x08\x08\x01\x01\x01\x01\x01\x01\x01",
	"Fxxxx\x01\x80"
	"12345678abcd\x01\x3e\x20\x20\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01",
	"Fxxxx\x01\x80"
	"12345678abcd\x10\x40\x21\x21\x01\x01\x01\x01",
	"Rxxxx\x01\x01\x11\x22\x33",
	"Babcdefghijklmnopqrstuvwxyz0123456789",
	"B",
	"\xff\xff\xff",
	NULL,
};

/* As the store gives it: with nothing but slack behind. */
static bool read_page(const void *bytes, size_t size, Anchor *ret, unsigned *ret_n)
{
	g_autofree uint8_t *page = g_malloc0(size + ANCHOR_PAGE_SLACK);

	memcpy(page, bytes, size);
	return anchor_page_read(page, size, ret, ret_n);
}

static void assert_anchors(const Anchor *found, unsigned n_found, const Anchor *expected,
			   unsigned n_expected)
{
	g_assert_cmpuint(n_found, ==, n_expected);
	for (unsigned i = 0; i < n_found; i++) {
		g_assert_cmpuint(found[i].digest, ==, expected[i].digest);
		g_assert_cmpuint(found[i].object, ==, expected[i].object);
		g_assert_cmpuint(found[i].block, ==, expected[i].block);
	}
}

/* Pack as many of the anchors as there is room for. */
static unsigned pack(const Anchor *anchors, unsigned n, AnchorPage *ret)
{
	unsigned n_packed = 0;

	anchor_page_begin(ret);
	while (n_packed < n && anchor_page_add(ret, &anchors[n_packed]))
		n_packed++;
	if (n_packed > 0)
		anchor_page_seal(ret);
	return n_packed;
}

/* An accepted page has as many entries as its header says, in the order of their digests. */
static void check_entries(const uint8_t *page, const Anchor *anchors, unsigned n)
{
	g_assert_cmpuint(n, ==, page[COUNT_BYTES - 2] | (page[COUNT_BYTES - 1] & 0x7fu) << 8);
	for (unsigned i = 1; i < n; i++)
		g_assert_cmpuint(anchors[i - 1].digest, <=, anchors[i].digest);
}

/* A page with a checksum that is right, whatever else is wrong with it. */
static void try_forged(const uint8_t *data, size_t size)
{
	g_autofree uint8_t *page = g_memdup2(data, size);
	g_autofree Anchor *anchors = g_new(Anchor, ANCHOR_PAGE_ENTRIES);
	g_autofree Anchor *again = g_new(Anchor, ANCHOR_PAGE_ENTRIES);
	g_autofree AnchorPage *packed = g_new0(AnchorPage, 1);
	unsigned n, n_packed, n_again;
	uint32_t sum;

	if (size < COUNT_BYTES)
		return;
	page[COUNT_BYTES - 1] &= 0x87;
	sum = GUINT32_TO_LE((uint32_t)XXH3_64bits(page + CHECKSUM_BYTES, size - CHECKSUM_BYTES));
	memcpy(page, &sum, sizeof(sum));
	if (!read_page(page, size, anchors, &n))
		return;

	/* What was accepted can be packed again, as far as there is room. */
	g_assert_cmpuint(n, >, 0);
	g_assert_cmpuint(n, <=, ANCHOR_PAGE_ENTRIES);
	check_entries(page, anchors, n);
	n_packed = pack(anchors, n, packed);
	g_assert_true(read_page(packed->bytes, packed->n_bytes, again, &n_again));
	assert_anchors(again, n_again, anchors, n_packed);
}

static int compare_anchors(const void *a, const void *b)
{
	const Anchor *one = a;
	const Anchor *other = b;

	return (one->digest > other->digest) - (one->digest < other->digest);
}

/* A page of anchors made from the input comes back, and no damaged one does. */
static void try_built(const uint8_t *data, size_t size)
{
	unsigned n = (unsigned)MIN(size / sizeof(Anchor), ANCHOR_PAGE_ENTRIES);
	g_autofree Anchor *anchors = g_new(Anchor, n + 1);
	g_autofree Anchor *found = g_new(Anchor, ANCHOR_PAGE_ENTRIES);
	g_autofree AnchorPage *page = g_new0(AnchorPage, 1);
	unsigned n_packed, n_found;

	memcpy(anchors, data, n * sizeof(Anchor));
	qsort(anchors, n, sizeof(Anchor), compare_anchors);
	n_packed = pack(anchors, n, page);
	if (n_packed == 0)
		return;

	g_assert_true(read_page(page->bytes, page->n_bytes, found, &n_found));
	assert_anchors(found, n_found, anchors, n_packed);
	for (size_t i = 0; i < page->n_bytes; i += 1 + page->n_bytes / 64) {
		uint8_t bit = (uint8_t)(1u << data[i % size] % 8);

		g_assert_false(read_page(page->bytes, i, found, &n_found));
		page->bytes[i] ^= bit;
		g_assert_false(read_page(page->bytes, page->n_bytes, found, &n_found));
		page->bytes[i] ^= bit;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree Anchor *anchors = g_new(Anchor, ANCHOR_PAGE_ENTRIES);
	unsigned n;

	if (size == 0)
		return 0;

	if (*data == 'F')
		try_forged(data + 1, size - 1);
	else if (*data == 'B')
		try_built(data + 1, size - 1);
	else
		read_page(data + 1, size - 1, anchors, &n);
	return 0;
}
