/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/replan-list.h"

#include "common/content/run.h"

#define BLOCK   4096
#define BLOCKS  UINT64_C(6400)
#define CERTAIN 19
#define EARLY   7 /* the id of an extent that lacks equals */
#define EQUAL   9 /* of those that are pinned with it as a source */

static void add(ReplanList *list, const Object *target, const ExtentPin *pin, const Run *run,
		bool is_new)
{
	g_autoptr(GArray) runs = g_array_new(false, false, sizeof(Run));

	if (run)
		g_array_append_val(runs, *run);
	replan_list_add_pinned(list, target, pin, runs, is_new);
}

/* The extent at @address is pinned for its pieces, and has blocks [@first, @end) of the extent @source. */
static void pin_equal(ReplanList *list, uint32_t source, uint64_t address, uint64_t first,
		      uint64_t end)
{
	const Object target = { .id = EQUAL, .inode = address, .size_bytes = BLOCKS * BLOCK };
	const ExtentPin pin = { .cause = PIN_PIECES };
	const Run run = { .source = source, .source_block = first, .blocks = end - first };

	add(list, &target, &pin, &run, true);
}

static void pin(ReplanList *list, uint64_t address, uint64_t first, uint64_t end)
{
	pin_equal(list, EARLY, address, first, end);
}

/* EARLY, of @blocks blocks, is pinned. */
static void pin_early(ReplanList *list, uint64_t blocks, PinCause cause, uint64_t uncovered_bytes)
{
	const Object target = { .id = EARLY, .inode = 1 << 20, .size_bytes = blocks * BLOCK };
	const ExtentPin pin = { .cause = cause, .uncovered_bytes = uncovered_bytes };

	add(list, &target, &pin, NULL, true);
}

/* The same: nothing equals it. */
static void pin_lacking(ReplanList *list, uint64_t blocks)
{
	pin_early(list, blocks, PIN_UNCOVERED, blocks * BLOCK);
}

static const ReplanEntry *find(ReplanList *list, uint32_t id)
{
	GHashTableIter iterator;
	gpointer key, entry;

	replan_list_iterate(list, &iterator);
	while (g_hash_table_iter_next(&iterator, &key, &entry))
		if (GPOINTER_TO_UINT(key) == id)
			return entry;

	return NULL;
}

static bool is_early(ReplanList *list)
{
	return replan_entry_is_early(find(list, EARLY));
}

static bool is_needed(ReplanList *list, uint32_t id)
{
	return replan_list_is_needed(list, find(list, id));
}

static void test_each_extent_gives_its_mark(void)
{
	g_autoptr(ReplanList) list = replan_list_new(BLOCK, CERTAIN);
	uint64_t one;

	g_assert_null(find(list, 3));
	replan_list_add(list, 3, 4096);
	one = find(list, 3)->marks;
	g_assert_cmpint(__builtin_popcountll(one), ==, 1);
	pin_equal(list, 3, 4096, 0, 10);
	g_assert_cmpuint(find(list, 3)->marks, ==, one);
	pin_equal(list, 3, 8192, 0, 10);
	g_assert_cmpint(__builtin_popcountll(find(list, 3)->marks), ==, 2);
}

static void test_what_an_earlier_pass_pinned_helps_only_what_lacks_equals(void)
{
	g_autoptr(ReplanList) list = replan_list_new(BLOCK, CERTAIN);
	const Object target = { .id = EQUAL, .inode = 4096, .size_bytes = BLOCKS * BLOCK };
	const ExtentPin pin = { .cause = PIN_PIECES };
	const Run known = { .source = 3, .blocks = BLOCKS };
	const Run lacking = { .source = EARLY, .blocks = BLOCKS };

	pin_lacking(list, BLOCKS);
	add(list, &target, &pin, &known, false);
	add(list, &target, &pin, &lacking, false);
	g_assert_null(find(list, 3));
	g_assert_true(is_early(list));
	g_assert_true(is_needed(list, EQUAL));
}

static void test_equal_blocks_are_at_most_those_of_runs_and_beside_them(void)
{
	g_autoptr(ReplanList) list = replan_list_new(BLOCK, CERTAIN);

	pin_equal(list, 3, 4096, 100, 200);
	g_assert_cmpuint(find(list, 3)->equal_blocks, ==, 100 + 2 * (CERTAIN - 1));
	pin_equal(list, 3, 8192, 100, 300);
	g_assert_cmpuint(find(list, 3)->equal_blocks, ==, 300 + 4 * (CERTAIN - 1));
}

static void test_only_what_lacked_more_than_a_quarter_is_early(void)
{
	static const struct {
		PinCause cause;
		uint64_t uncovered_blocks;
		bool is_early;
	} cases[] = {
		{ PIN_UNCOVERED, BLOCKS, true },      { PIN_UNCOVERED, BLOCKS / 4 + 1, true },
		{ PIN_UNCOVERED, BLOCKS / 4, false }, { PIN_PIECES, 0, false },
		{ PIN_KEEP_ZEROS, BLOCKS, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(ReplanList) list = replan_list_new(BLOCK, CERTAIN);

		pin_early(list, BLOCKS, cases[i].cause, cases[i].uncovered_blocks * BLOCK);
		pin(list, 4096, 0, BLOCKS);
		g_assert_cmpint(is_early(list), ==, cases[i].is_early);
	}
}

static void test_what_was_no_target_is_not_early(void)
{
	g_autoptr(ReplanList) list = replan_list_new(BLOCK, CERTAIN);

	pin(list, 4096, 0, BLOCKS);
	g_assert_false(is_early(list));
}

static void test_what_was_pinned_before_does_not_count(void)
{
	g_autoptr(ReplanList) list = replan_list_new(BLOCK, CERTAIN);

	pin_lacking(list, BLOCKS);
	pin(list, 4096, 0, BLOCKS);
	g_assert_true(is_early(list));
	pin_lacking(list, BLOCKS);
	g_assert_false(is_early(list));
}

static void test_three_quarters_are_enough(void)
{
	g_autoptr(ReplanList) list = replan_list_new(BLOCK, CERTAIN);

	pin_lacking(list, BLOCKS);
	pin(list, 4096, 0, BLOCKS * 3 / 4 - BLOCKS / 64);
	g_assert_false(is_early(list));
	pin(list, 8192, BLOCKS / 4, BLOCKS * 3 / 4);
	g_assert_true(is_early(list));
}

static void test_the_same_part_counts_once(void)
{
	g_autoptr(ReplanList) list = replan_list_new(BLOCK, CERTAIN);

	pin_lacking(list, BLOCKS);
	for (uint64_t number = 1; number < 100; number++)
		pin(list, number * 4096, 0, BLOCKS / 2);
	g_assert_false(is_early(list));
}

/* Nine of ten blocks. */
static void test_parts_of_many_runs_add_up(void)
{
	g_autoptr(ReplanList) list = replan_list_new(BLOCK, CERTAIN);

	pin_lacking(list, BLOCKS);
	for (uint64_t block = 0; block < BLOCKS; block += 40)
		pin(list, 4096, block, block + 36);
	g_assert_true(is_early(list));
}

static void test_a_short_extent_has_several_samples_per_block(void)
{
	g_autoptr(ReplanList) list = replan_list_new(BLOCK, CERTAIN);

	pin_lacking(list, 4);
	pin(list, 4096, 0, 2);
	g_assert_false(is_early(list));
	pin(list, 4096, 3, 4);
	g_assert_true(is_early(list));
	pin_lacking(list, 1);
	pin(list, 4096, 0, 1);
	g_assert_true(is_early(list));
}

/* The ends of runs are estimates. */
static void test_a_run_may_end_behind_the_extent(void)
{
	g_autoptr(ReplanList) list = replan_list_new(BLOCK, CERTAIN);

	pin_lacking(list, BLOCKS);
	pin(list, 4096, BLOCKS - 1, BLOCKS * 2);
	g_assert_false(is_early(list));
	pin(list, 4096, BLOCKS / 4, UINT32_MAX);
	g_assert_true(is_early(list));
}

static void test_equals_are_needed_by_an_early_extent_only(void)
{
	g_autoptr(ReplanList) list = replan_list_new(BLOCK, CERTAIN);

	pin(list, 4096, 0, BLOCKS / 2);
	g_assert_false(is_needed(list, EARLY));
	pin_lacking(list, BLOCKS);
	pin(list, 4096, 0, BLOCKS / 2);
	g_assert_false(is_needed(list, EQUAL));
	pin(list, 8192, BLOCKS / 2, BLOCKS);
	g_assert_true(is_needed(list, EQUAL));
	g_assert_false(is_needed(list, EARLY));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/replan-list/each-extent-gives-its-mark", test_each_extent_gives_its_mark);
	g_test_add_func("/replan-list/equal-blocks-are-at-most-those-of-runs-and-beside-them",
			test_equal_blocks_are_at_most_those_of_runs_and_beside_them);
	g_test_add_func("/replan-list/what-an-earlier-pass-pinned-helps-only-what-lacks-equals",
			test_what_an_earlier_pass_pinned_helps_only_what_lacks_equals);
	g_test_add_func("/replan-list/only-what-lacked-more-than-a-quarter-is-early",
			test_only_what_lacked_more_than_a_quarter_is_early);
	g_test_add_func("/replan-list/what-was-no-target-is-not-early",
			test_what_was_no_target_is_not_early);
	g_test_add_func("/replan-list/what-was-pinned-before-does-not-count",
			test_what_was_pinned_before_does_not_count);
	g_test_add_func("/replan-list/three-quarters-are-enough", test_three_quarters_are_enough);
	g_test_add_func("/replan-list/the-same-part-counts-once", test_the_same_part_counts_once);
	g_test_add_func("/replan-list/parts-of-many-runs-add-up", test_parts_of_many_runs_add_up);
	g_test_add_func("/replan-list/a-short-extent-has-several-samples-per-block",
			test_a_short_extent_has_several_samples_per_block);
	g_test_add_func("/replan-list/a-run-may-end-behind-the-extent",
			test_a_run_may_end_behind_the_extent);
	g_test_add_func("/replan-list/equals-are-needed-by-an-early-extent-only",
			test_equals_are_needed_by_an_early_extent_only);
	return g_test_run();
}
