/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/zero-source.h"

#include <stdlib.h>

#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1) << 20)

/* The id of each candidate is its place in the order, best first. */
static void test_candidates_have_one_order(void)
{
	/* Id, address, size, zeros, stays. */
	static const ZeroCandidate expected[] = {
		{ 0, 900, 16 * MIB, 16 * MIB, true },
		{ 1, 800, 100 * MIB, 100 * MIB, true },
		{ 2, 600, 16 * MIB, 16 * MIB, false },
		{ 3, 700, 16 * MIB, 16 * MIB, false },
		{ 4, 100, 20 * MIB, 20 * MIB, false },
		{ 5, 500, 8 * MIB, 8 * MIB, true },
		/* A sixteenth of its bytes. */
		{ 6, 300, 128 * MIB, 80 * MIB, true },
		{ 7, 200, 4 * MIB, 4 * MIB, false },
		{ 8, 250, 2 * MIB, MIB, true },
		{ 9, 20, 64 * KIB, 64 * KIB, false },
		{ 10, 10, 8 * KIB, 4 * KIB, true },
	};
	ZeroCandidate sorted[G_N_ELEMENTS(expected)];

	for (size_t shift = 0; shift < G_N_ELEMENTS(sorted); shift++) {
		for (size_t i = 0; i < G_N_ELEMENTS(sorted); i++)
			sorted[i] = expected[(i * 7 + shift) % G_N_ELEMENTS(sorted)];
		qsort(sorted, G_N_ELEMENTS(sorted), sizeof(sorted[0]), zero_candidate_compare);
		for (size_t i = 0; i < G_N_ELEMENTS(sorted); i++)
			g_assert_cmpuint(sorted[i].id, ==, i);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/zero-source/candidates-have-one-order", test_candidates_have_one_order);

	return g_test_run();
}
