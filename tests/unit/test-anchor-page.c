/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchor-page.h"

#include "hashstore/anchors/anchor-sort.h"
#include "hashstore/anchors/fences.h"

#include <glib.h>
#include <string.h>
#include <xxhash.h>

static uint64_t random_number(unsigned bits)
{
	uint64_t number = (uint64_t)(uint32_t)g_random_int() << 32 | (uint32_t)g_random_int();

	return bits == 0 ? 0 : number >> (64 - bits);
}

/* Pack as many as fit, unpack and compare.  Returns how many fit. */
static unsigned check_round_trip(const Anchor *anchors, unsigned n)
{
	g_autofree AnchorPage *page = g_new0(AnchorPage, 1);
	g_autofree uint8_t *stored = NULL;
	Anchor back[ANCHOR_PAGE_ENTRIES];
	unsigned n_back, packed = 0;

	anchor_page_begin(page);
	while (packed < n && anchor_page_add(page, &anchors[packed]))
		packed++;
	anchor_page_seal(page);
	g_assert_cmpuint(page->n_bytes, <=, ANCHOR_PAGE_BYTES);

	/* An allocation of the exact size, so that memory checkers see reads behind it. */
	stored = g_memdup2(page->bytes, page->n_bytes + ANCHOR_PAGE_SLACK);
	g_assert_true(anchor_page_read(stored, page->n_bytes, back, &n_back));
	g_assert_cmpuint(n_back, ==, packed);
	g_assert_cmpmem(back, n_back * sizeof(*back), anchors, packed * sizeof(*anchors));

	return packed;
}

static void test_numbers_of_all_lengths_come_back(void)
{
	Anchor anchors[600];

	for (unsigned bits = 0; bits <= 64; bits++) {
		for (unsigned i = 0; i < G_N_ELEMENTS(anchors); i++) {
			anchors[i] = (Anchor){
				.digest = random_number(bits),
				.object = (uint32_t)random_number(MIN(bits, 32)),
				.block = (uint32_t)random_number(
					(unsigned)g_random_int_range(0, 33)),
			};
			if (i % 10 == 0)
				anchors[i].block = ANCHOR_WHOLE_BLOCK;
		}
		anchor_sort(anchors, G_N_ELEMENTS(anchors));
		g_assert_cmpuint(check_round_trip(anchors, G_N_ELEMENTS(anchors)), >, 200);
	}
}

static void test_largest_numbers_come_back(void)
{
	const Anchor anchors[] = {
		{ 0, 0, 0 },
		{ 0, UINT32_MAX, UINT32_MAX },
		{ UINT64_MAX, 0, UINT32_MAX - 1 },
		{ UINT64_MAX, UINT32_MAX, UINT32_MAX },
	};

	g_assert_cmpuint(check_round_trip(anchors, 4), ==, 4);
}

static void test_page_has_no_more_entries_than_can_be_unpacked(void)
{
	g_autofree Anchor *anchors = g_new0(Anchor, 3000);

	for (unsigned i = 0; i < 3000; i++)
		anchors[i].block = i % 100;
	g_assert_cmpuint(check_round_trip(anchors, 3000), ==, ANCHOR_PAGE_ENTRIES);
}

static void test_typical_anchor_takes_less_than_8_bytes(void)
{
	g_autofree Anchor *anchors = g_new0(Anchor, 1000);
	unsigned n;

	/* As with 50 M anchors in 200,000 objects. */
	for (unsigned i = 0; i < 1000; i++) {
		anchors[i].digest = anchor_digest(UINT64_MAX / 2 + random_number(64) / 50000);
		anchors[i].object = (uint32_t)g_random_int_range(1, 200000);
		anchors[i].block = (uint32_t)g_random_int_range(0, 2000);
	}
	anchor_sort(anchors, 1000);
	n = check_round_trip(anchors, 1000);
	g_assert_cmpuint(n, >, ANCHOR_PAGE_BYTES / 8);
}

/* Add an entry of a plain page: a digest of @digest_bytes, an object of 1 and a block of 4. */
static size_t put_plain(uint8_t *to, uint64_t difference, unsigned digest_bytes, uint8_t object,
			uint32_t block)
{
	to[0] = (uint8_t)(digest_bytes | 3u << 6);
	for (unsigned i = 0; i < digest_bytes; i++)
		to[1 + i] = (uint8_t)(difference >> 8 * i);
	to[1 + digest_bytes] = object;
	for (unsigned i = 0; i < 4; i++)
		to[2 + digest_bytes + i] = (uint8_t)((block + 1) >> 8 * i);

	return 6 + digest_bytes;
}

static void seal(uint8_t *bytes, size_t n_bytes, unsigned n_entries)
{
	uint32_t sum;

	bytes[4] = (uint8_t)n_entries;
	bytes[5] = (uint8_t)(n_entries >> 8);
	sum = GUINT32_TO_LE((uint32_t)XXH3_64bits(bytes + 4, n_bytes - 4));
	memcpy(bytes, &sum, sizeof(sum));
}

/* As stores before version 17 have them.  Their digests have 64 bits. */
static void test_plain_page_is_read_with_short_digests(void)
{
	const uint64_t digest = UINT64_C(0x0123456789abcd00);
	const Anchor expected[] = {
		{ 7, 9, 5 },
		{ anchor_digest(digest), 1, 6 },
		{ anchor_digest(digest), 2, ANCHOR_WHOLE_BLOCK },
		{ anchor_digest(digest + 0x10000), 3, 8 },
	};
	uint8_t bytes[100 + ANCHOR_PAGE_SLACK] = { 0 };
	Anchor back[ANCHOR_PAGE_ENTRIES];
	size_t n_bytes = 6;
	unsigned n;

	n_bytes += put_plain(bytes + n_bytes, 7, 1, 9, 5);
	n_bytes += put_plain(bytes + n_bytes, digest - 7, 8, 2, ANCHOR_WHOLE_BLOCK);
	n_bytes += put_plain(bytes + n_bytes, 1, 1, 1, 6);
	n_bytes += put_plain(bytes + n_bytes, 0x10000, 3, 3, 8);
	seal(bytes, n_bytes, 4);

	g_assert_true(anchor_page_is_plain(bytes, n_bytes));
	g_assert_true(anchor_page_read(bytes, n_bytes, back, &n));
	g_assert_cmpmem(back, n * sizeof(*back), expected, sizeof(expected));

	for (size_t i = 6; i < n_bytes; i++) {
		seal(bytes, i, 4);
		g_assert_false(anchor_page_read(bytes, i, back, &n));
	}
	seal(bytes, n_bytes, 5);
	g_assert_false(anchor_page_read(bytes, n_bytes, back, &n));
}

static void test_only_zeros_have_the_digest_of_zeros(void)
{
	g_assert_cmpuint(anchor_digest(ANCHOR_ZEROS_DIGEST), ==, ANCHOR_ZEROS_DIGEST);
	for (unsigned bits = 1; bits <= 64; bits++) {
		uint64_t digest = UINT64_MAX >> (64 - bits);

		g_assert_cmpuint(anchor_digest(digest), !=, ANCHOR_ZEROS_DIGEST);
		g_assert_cmpuint(anchor_digest(digest - 1), <=, anchor_digest(digest));
		g_assert_cmpuint(anchor_digest(anchor_digest(digest)), ==, anchor_digest(digest));
	}
}

static AnchorPage *page_of_hundred(void)
{
	AnchorPage *page = g_new0(AnchorPage, 1);

	anchor_page_begin(page);
	for (unsigned i = 0; i < 100; i++) {
		const Anchor anchor = { .digest = i * 1000, .object = i, .block = i };

		g_assert_true(anchor_page_add(page, &anchor));
	}
	anchor_page_seal(page);
	return page;
}

static void test_damaged_page_is_not_read(void)
{
	g_autofree AnchorPage *page = page_of_hundred();
	Anchor back[ANCHOR_PAGE_ENTRIES];
	unsigned n;

	for (size_t i = 0; i < page->n_bytes; i++) {
		page->bytes[i] ^= 0x55;
		g_assert_false(anchor_page_read(page->bytes, page->n_bytes, back, &n));
		page->bytes[i] ^= 0x55;
	}
	for (size_t i = 0; i < page->n_bytes; i++)
		g_assert_false(anchor_page_read(page->bytes, i, back, &n));
	g_assert_true(anchor_page_read(page->bytes, page->n_bytes, back, &n));
}

/* A page of random bytes with a valid checksum must be refused or read in order, never overrun. */
static void test_page_of_nonsense_is_not_overrun(void)
{
	uint8_t bytes[ANCHOR_PAGE_BYTES];
	Anchor back[ANCHOR_PAGE_ENTRIES];

	for (int round = 0; round < 40000; round++) {
		unsigned packed = round % 2 ? ANCHOR_PAGE_PACKED : 0;
		size_t n_bytes = (size_t)g_random_int_range(7, ANCHOR_PAGE_BYTES + 1);
		unsigned n_entries = (unsigned)g_random_int_range(0, ANCHOR_PAGE_ENTRIES + 2);
		g_autofree uint8_t *stored = NULL;
		unsigned n;

		for (size_t i = 0; i < n_bytes; i += 1 + i / 16)
			bytes[i] = (uint8_t)g_random_int();
		/* Few bits, so that the header can be valid. */
		for (size_t i = 18; packed && i < MIN(n_bytes, 22); i++)
			bytes[i] &= 0x3f;
		seal(bytes, n_bytes, n_entries | packed);
		stored = g_malloc0(n_bytes + ANCHOR_PAGE_SLACK);
		memcpy(stored, bytes, n_bytes);
		if (!anchor_page_read(stored, n_bytes, back, &n))
			continue;
		g_assert_cmpuint(n, ==, n_entries);
		for (unsigned i = 1; packed && i < n; i++)
			g_assert_cmpuint(back[i - 1].digest, <=, back[i].digest);
	}
}

/* Each field of the header at its limits, with the checksum right. */
static void test_header_out_of_range_is_refused(void)
{
	g_autofree AnchorPage *page = page_of_hundred();
	Anchor back[ANCHOR_PAGE_ENTRIES];
	unsigned n;

	for (size_t at = 18; at < 22; at++) {
		uint8_t right = page->bytes[at];

		for (unsigned value = 0; value < 256; value++) {
			page->bytes[at] = (uint8_t)value;
			seal(page->bytes, page->n_bytes, 100 | ANCHOR_PAGE_PACKED);
			if (value > 63)
				g_assert_false(
					anchor_page_read(page->bytes, page->n_bytes, back, &n));
			else if (anchor_page_read(page->bytes, page->n_bytes, back, &n))
				g_assert_cmpuint(n, ==, 100);
		}
		page->bytes[at] = right;
	}
}

static void test_fences_lead_before_the_first_entry(void)
{
	g_autoptr(GByteArray) fences = g_byte_array_new();
	const uint64_t unit = UINT64_C(1) << 32;

	g_assert_cmpuint(fences_find(NULL, 0, 5), ==, 0);
	/* 10, 20, 20, 30: the digest 20 may begin in the place before its first fence. */
	fences_append(fences, 10 * unit);
	fences_append(fences, 20 * unit + 7);
	fences_append(fences, 20 * unit + 9);
	fences_append(fences, 30 * unit);
	g_assert_cmpuint(fences_find(fences->data, 4, 0), ==, 0);
	g_assert_cmpuint(fences_find(fences->data, 4, 10 * unit), ==, 0);
	g_assert_cmpuint(fences_find(fences->data, 4, 15 * unit), ==, 0);
	g_assert_cmpuint(fences_find(fences->data, 4, 20 * unit + 8), ==, 0);
	g_assert_cmpuint(fences_find(fences->data, 4, 21 * unit), ==, 2);
	g_assert_cmpuint(fences_find(fences->data, 4, 30 * unit), ==, 2);
	g_assert_cmpuint(fences_find(fences->data, 4, UINT64_MAX), ==, 3);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/anchor-page/numbers-of-all-lengths-come-back",
			test_numbers_of_all_lengths_come_back);
	g_test_add_func("/anchor-page/largest-numbers-come-back", test_largest_numbers_come_back);
	g_test_add_func("/anchor-page/page-has-no-more-entries-than-can-be-unpacked",
			test_page_has_no_more_entries_than_can_be_unpacked);
	g_test_add_func("/anchor-page/typical-anchor-takes-less-than-8-bytes",
			test_typical_anchor_takes_less_than_8_bytes);
	g_test_add_func("/anchor-page/plain-page-is-read-with-short-digests",
			test_plain_page_is_read_with_short_digests);
	g_test_add_func("/anchor-page/only-zeros-have-the-digest-of-zeros",
			test_only_zeros_have_the_digest_of_zeros);
	g_test_add_func("/anchor-page/damaged-page-is-not-read", test_damaged_page_is_not_read);
	g_test_add_func("/anchor-page/page-of-nonsense-is-not-overrun",
			test_page_of_nonsense_is_not_overrun);
	g_test_add_func("/anchor-page/header-out-of-range-is-refused",
			test_header_out_of_range_is_refused);
	g_test_add_func("/anchor-page/fences-lead-before-the-first-entry",
			test_fences_lead_before_the_first_entry);

	return g_test_run();
}
