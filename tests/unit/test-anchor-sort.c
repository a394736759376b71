/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchor-sort.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	return anchor_compare(a, b);
}

static uint64_t random_number(void)
{
	return (uint64_t)g_random_int() << 32 | g_random_int();
}

/* Sort numbers cut to @digest_bits and the rest to @place_bits, and compare with qsort(). */
static void check_sort(size_t n, unsigned digest_bits, unsigned place_bits, uint64_t base)
{
	g_autofree Anchor *anchors = g_new(Anchor, n + 1);
	g_autofree Anchor *expected = NULL;

	for (size_t i = 0; i < n; i++) {
		anchors[i].digest =
			base + (digest_bits == 0 ? 0 : random_number() >> (64 - digest_bits));
		anchors[i].object =
			place_bits == 0 ? 7 : (uint32_t)g_random_int() >> (32 - place_bits);
		anchors[i].block =
			place_bits == 0 ? 7 : (uint32_t)g_random_int() >> (32 - place_bits);
	}
	expected = g_memdup2(anchors, n * sizeof(*anchors));
	if (n > 0)
		qsort(expected, n, sizeof(*expected), compare);
	anchor_sort(anchors, n);
	g_assert_cmpmem(anchors, n * sizeof(*anchors), expected, n * sizeof(*anchors));
}

static void test_any_distribution_is_sorted(void)
{
	static const size_t sizes[] = { 0, 1, 2, 20, 21, 100, 1000, 20000, 70000 };
	static const unsigned widths[] = { 0, 1, 7, 20, 32 };

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		for (size_t j = 0; j < G_N_ELEMENTS(widths); j++) {
			check_sort(sizes[i], 64, widths[j], 0);
			check_sort(sizes[i], widths[j], widths[j], UINT64_MAX / 3);
			check_sort(sizes[i], widths[j], 32, (UINT64_C(1) << 63) - 5);
		}
	}
}

/* Sort @n_runs sorted runs of up to @size anchors, and compare with a sort of all of them. */
static void check_runs(size_t n_runs, size_t size, unsigned digest_bits, uint64_t base)
{
	g_autofree Anchor *anchors = g_new(Anchor, n_runs * size + 1);
	g_autofree Anchor *sorted = g_new(Anchor, n_runs * size + 1);
	g_autofree AnchorRun *runs = g_new(AnchorRun, n_runs + 1);
	size_t n = 0;

	for (size_t i = 0; i < n_runs; i++) {
		runs[i].anchors = &anchors[n];
		runs[i].n_anchors = g_random_int() % (size + 1);
		for (size_t j = 0; j < runs[i].n_anchors; j++, n++) {
			anchors[n].digest =
				base +
				(digest_bits == 0 ? 0 : random_number() >> (64 - digest_bits));
			anchors[n].object = g_random_int() % 100;
			anchors[n].block = g_random_int() % 100;
		}
		anchor_sort(&anchors[n - runs[i].n_anchors], runs[i].n_anchors);
	}
	anchor_sort_runs(runs, n_runs, sorted);
	anchor_sort(anchors, n);
	g_assert_cmpmem(sorted, n * sizeof(*sorted), anchors, n * sizeof(*anchors));
}

static void test_sorted_runs_are_put_together(void)
{
	static const size_t sizes[] = { 0, 1, 2, 25, 400, 9000 };
	static const unsigned widths[] = { 0, 1, 7, 20, 64 };

	for (size_t n_runs = 0; n_runs < 13; n_runs++) {
		for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
			for (size_t j = 0; j < G_N_ELEMENTS(widths); j++)
				check_runs(n_runs, sizes[i], widths[j], widths[j] == 64 ? 0 : 7);
			check_runs(n_runs, sizes[i], 0, UINT64_MAX);
		}
	}
}

/* Runs that begin with the least digest, and end with the largest. */
static void test_runs_with_the_extreme_digests_are_put_together(void)
{
	static const uint64_t digests[] = { 0, 1, UINT64_C(1) << 32, UINT64_MAX - 1, UINT64_MAX };
	Anchor runs_of[3][100], sorted[G_N_ELEMENTS(runs_of) * G_N_ELEMENTS(runs_of[0])];
	Anchor expected[G_N_ELEMENTS(sorted)];
	AnchorRun runs[G_N_ELEMENTS(runs_of)];

	for (size_t i = 0; i < G_N_ELEMENTS(runs_of); i++) {
		for (uint32_t j = 0; j < G_N_ELEMENTS(runs_of[0]); j++)
			runs_of[i][j] = (Anchor){ digests[j / 20], 7 * j % 100, (uint32_t)i };
		anchor_sort(runs_of[i], G_N_ELEMENTS(runs_of[0]));
		runs[i] = (AnchorRun){ runs_of[i], G_N_ELEMENTS(runs_of[0]) };
	}
	memcpy(expected, runs_of, sizeof(expected));
	qsort(expected, G_N_ELEMENTS(expected), sizeof(*expected), compare);
	anchor_sort_runs(runs, G_N_ELEMENTS(runs), sorted);
	g_assert_cmpmem(sorted, sizeof(sorted), expected, sizeof(expected));
}

static void test_millions_are_sorted(void)
{
	check_sort(1100000, 64, 32, 0);
	check_sort(1100000, 1, 32, 5);
	check_sort(1100000, 0, 20, 5);
}

static void test_powers_of_two_are_sorted(void)
{
	/* Each digit separates one anchor: the deepest recursion. */
	g_autofree Anchor *anchors = g_new(Anchor, 64 * 64);
	size_t n = 0;

	for (unsigned i = 0; i < 64; i++) {
		for (unsigned j = 0; j < 64; j++) {
			uint64_t place = UINT64_C(1) << (j * 37 % 64);

			anchors[n].digest = UINT64_C(1) << (i * 29 % 64);
			anchors[n].object = (uint32_t)(place >> 32);
			anchors[n++].block = (uint32_t)place;
		}
	}
	anchor_sort(anchors, n);
	for (size_t i = 1; i < n; i++)
		g_assert_cmpint(anchor_compare(&anchors[i - 1], &anchors[i]), <, 0);
}

static void test_equal_anchors_are_kept_once(void)
{
	Anchor anchors[] = { { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 2 }, { 1, 2, 2 },
			     { 1, 2, 2 }, { 1, 2, 2 }, { 2, 2, 2 } };
	const Anchor expected[] = { { 1, 1, 1 }, { 1, 1, 2 }, { 1, 2, 2 }, { 2, 2, 2 } };

	g_assert_cmpuint(anchor_unique(anchors, G_N_ELEMENTS(anchors)), ==, 4);
	g_assert_cmpmem(anchors, sizeof(expected), expected, sizeof(expected));
	g_assert_cmpuint(anchor_unique(anchors, 4), ==, 4);
	g_assert_cmpuint(anchor_unique(anchors, 1), ==, 1);
	g_assert_cmpuint(anchor_unique(anchors, 0), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/anchor-sort/any-distribution-is-sorted", test_any_distribution_is_sorted);
	g_test_add_func("/anchor-sort/sorted-runs-are-put-together",
			test_sorted_runs_are_put_together);
	g_test_add_func("/anchor-sort/runs-with-the-extreme-digests-are-put-together",
			test_runs_with_the_extreme_digests_are_put_together);
	g_test_add_func("/anchor-sort/millions-are-sorted", test_millions_are_sorted);
	g_test_add_func("/anchor-sort/powers-of-two-are-sorted", test_powers_of_two_are_sorted);
	g_test_add_func("/anchor-sort/equal-anchors-are-kept-once",
			test_equal_anchors_are_kept_once);

	return g_test_run();
}
