/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchor-page.h"

#include "hashstore/anchors/anchor-sort.h"
#include "hashstore/anchors/fences.h"

#include <glib.h>
#include <string.h>

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

static void test_typical_anchor_takes_less_than_11_bytes(void)
{
	g_autofree Anchor *anchors = g_new0(Anchor, 1000);
	unsigned n;

	/* As with 50 M anchors in 200,000 objects. */
	for (unsigned i = 0; i < 1000; i++) {
		anchors[i].digest = random_number(64) / 50000;
		anchors[i].object = (uint32_t)g_random_int_range(1, 200000);
		anchors[i].block = (uint32_t)g_random_int_range(0, 2000);
	}
	anchor_sort(anchors, 1000);
	n = check_round_trip(anchors, 1000);
	g_assert_cmpuint(n, >, ANCHOR_PAGE_BYTES / 11);
}

static void test_damaged_page_is_not_read(void)
{
	g_autofree AnchorPage *page = g_new0(AnchorPage, 1);
	Anchor back[ANCHOR_PAGE_ENTRIES];
	unsigned n;

	anchor_page_begin(page);
	for (unsigned i = 0; i < 100; i++) {
		const Anchor anchor = { .digest = i * 1000, .object = i, .block = i };

		g_assert_true(anchor_page_add(page, &anchor));
	}
	anchor_page_seal(page);
	for (size_t i = 0; i < page->n_bytes; i++) {
		page->bytes[i] ^= 0x55;
		g_assert_false(anchor_page_read(page->bytes, page->n_bytes, back, &n));
		page->bytes[i] ^= 0x55;
	}
	for (size_t i = 0; i < page->n_bytes; i++)
		g_assert_false(anchor_page_read(page->bytes, i, back, &n));
	g_assert_true(anchor_page_read(page->bytes, page->n_bytes, back, &n));
}

/* A page of random bytes with a valid checksum must be refused or read, never overrun. */
static void test_page_of_nonsense_is_not_overrun(void)
{
	AnchorPage page = { 0 };
	Anchor back[ANCHOR_PAGE_ENTRIES];

	for (int round = 0; round < 20000; round++) {
		size_t n_bytes = (size_t)g_random_int_range(7, ANCHOR_PAGE_BYTES + 1);
		g_autofree uint8_t *stored = NULL;
		unsigned n;

		for (size_t i = 0; i < n_bytes; i += 1 + i / 16)
			page.bytes[i] = (uint8_t)g_random_int();
		page.n_bytes = n_bytes;
		page.n_entries = (unsigned)g_random_int_range(0, ANCHOR_PAGE_ENTRIES + 2);
		anchor_page_seal(&page);
		stored = g_memdup2(page.bytes, n_bytes + ANCHOR_PAGE_SLACK);
		if (anchor_page_read(stored, n_bytes, back, &n))
			g_assert_cmpuint(n, ==, page.n_entries);
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
	g_test_add_func("/anchor-page/typical-anchor-takes-less-than-11-bytes",
			test_typical_anchor_takes_less_than_11_bytes);
	g_test_add_func("/anchor-page/damaged-page-is-not-read", test_damaged_page_is_not_read);
	g_test_add_func("/anchor-page/page-of-nonsense-is-not-overrun",
			test_page_of_nonsense_is_not_overrun);
	g_test_add_func("/anchor-page/fences-lead-before-the-first-entry",
			test_fences_lead_before_the_first_entry);

	return g_test_run();
}
