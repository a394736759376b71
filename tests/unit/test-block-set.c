/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/block-set.h"

#define BLOCKS 96
#define SEED   4711

static void assert_gap(const BlockSet *set, uint64_t first, uint64_t end, uint64_t gap_first,
		       uint64_t gap_end)
{
	uint64_t found_first, found_end;

	g_assert_true(block_set_gap(set, first, end, &found_first, &found_end));
	g_assert_cmpuint(found_first, ==, gap_first);
	g_assert_cmpuint(found_end, ==, gap_end);
}

static void assert_no_gap(const BlockSet *set, uint64_t first, uint64_t end)
{
	uint64_t found_first, found_end;

	g_assert_false(block_set_gap(set, first, end, &found_first, &found_end));
}

static void test_an_empty_set_is_one_gap(void)
{
	g_autoptr(BlockSet) set = block_set_new();

	assert_gap(set, 0, 10, 0, 10);
	assert_gap(set, 5, UINT64_MAX, 5, UINT64_MAX);
	assert_no_gap(set, 7, 7);
}

static void test_a_gap_is_as_long_as_possible(void)
{
	g_autoptr(BlockSet) set = block_set_new();

	block_set_add(set, 10, 20);
	block_set_add(set, 30, 40);

	assert_gap(set, 0, 50, 0, 10);
	assert_gap(set, 5, 8, 5, 8);
	assert_gap(set, 10, 50, 20, 30);
	assert_gap(set, 15, 25, 20, 25);
	assert_gap(set, 20, 30, 20, 30);
	assert_gap(set, 35, 50, 40, 50);
	assert_no_gap(set, 10, 20);
	assert_no_gap(set, 12, 13);
	assert_no_gap(set, 35, 40);
}

static void test_touching_ranges_become_one(void)
{
	g_autoptr(BlockSet) set = block_set_new();

	block_set_add(set, 10, 20);
	block_set_add(set, 30, 40);
	block_set_add(set, 20, 30);
	assert_no_gap(set, 10, 40);
	g_assert_cmpuint(block_set_start(set, 39), ==, 10);
	g_assert_cmpuint(block_set_end(set, 10), ==, 40);
	g_assert_cmpuint(block_set_start(set, 40), ==, 40);
	g_assert_cmpuint(block_set_end(set, 9), ==, 9);
}

static void test_an_empty_range_adds_nothing(void)
{
	g_autoptr(BlockSet) set = block_set_new();

	block_set_add(set, 5, 5);
	block_set_add(set, 6, 5);
	assert_gap(set, 0, 10, 0, 10);
}

static void test_blocks_at_the_end_of_numbers_are_kept(void)
{
	g_autoptr(BlockSet) set = block_set_new();

	block_set_add(set, UINT64_MAX - 2, UINT64_MAX);
	assert_gap(set, UINT64_MAX - 5, UINT64_MAX, UINT64_MAX - 5, UINT64_MAX - 2);
	assert_no_gap(set, UINT64_MAX - 2, UINT64_MAX);
}

static void test_a_cleared_set_is_empty(void)
{
	g_autoptr(BlockSet) set = block_set_new();

	block_set_add(set, 0, 10);
	block_set_clear(set);
	assert_gap(set, 0, 10, 0, 10);
	block_set_add(set, 2, 4);
	assert_gap(set, 2, 10, 4, 10);
}

/* All answers about blocks from @least on agree with the bitmap. */
static void check(const BlockSet *set, const bool *bitmap, uint64_t least)
{
	for (uint64_t first = least; first < BLOCKS; first++) {
		uint64_t gap_first = first;
		uint64_t gap_end;

		while (gap_first < BLOCKS && bitmap[gap_first])
			gap_first++;
		gap_end = gap_first;
		while (gap_end < BLOCKS && !bitmap[gap_end])
			gap_end++;

		for (uint64_t end = first; end <= BLOCKS; end++) {
			if (gap_first < end)
				assert_gap(set, first, end, gap_first, MIN(gap_end, end));
			else
				assert_no_gap(set, first, end);
		}
	}
}

static void test_any_additions_answer_like_a_bitmap(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED);

	for (int round = 0; round < 60; round++) {
		g_autoptr(BlockSet) set = block_set_new();
		bool bitmap[BLOCKS] = { false };

		for (int i = 0; i < 12; i++) {
			uint64_t first = g_rand_int(rand) % BLOCKS;
			uint64_t length = 1 + g_rand_int(rand) % (round % 2 ? 4 : 20);
			uint64_t end = MIN(first + length, BLOCKS);

			block_set_add(set, first, end);
			for (uint64_t block = first; block < end; block++)
				bitmap[block] = true;
			check(set, bitmap, 0);
		}
	}
}

static void test_freeing_nothing_is_allowed(void)
{
	block_set_free(NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/block-set/an-empty-set-is-one-gap", test_an_empty_set_is_one_gap);
	g_test_add_func("/block-set/a-gap-is-as-long-as-possible",
			test_a_gap_is_as_long_as_possible);
	g_test_add_func("/block-set/touching-ranges-become-one", test_touching_ranges_become_one);
	g_test_add_func("/block-set/an-empty-range-adds-nothing", test_an_empty_range_adds_nothing);
	g_test_add_func("/block-set/blocks-at-the-end-of-numbers-are-kept",
			test_blocks_at_the_end_of_numbers_are_kept);
	g_test_add_func("/block-set/a-cleared-set-is-empty", test_a_cleared_set_is_empty);
	g_test_add_func("/block-set/any-additions-answer-like-a-bitmap",
			test_any_additions_answer_like_a_bitmap);
	g_test_add_func("/block-set/freeing-nothing-is-allowed", test_freeing_nothing_is_allowed);

	return g_test_run();
}
