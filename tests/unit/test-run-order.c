/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/match/run-order.h"
#include "tests/unit/scratch.h"

#define SEED 20231

static Sorter *runs_new(const Scratch *scratch)
{
	return sorter_new(sizeof(Run), run_compare, 1 << 20, scratch->path, NULL);
}

static void add(Sorter *runs, Run run)
{
	g_assert_true(sorter_add(runs, &run, NULL));
}

static const OrderedRun *next(RunOrder *order)
{
	g_autoptr(GError) error = NULL;
	const OrderedRun *ordered;

	if (!run_order_next(order, &ordered, &error))
		g_error("%s", error->message);
	return ordered;
}

static void assert_next(RunOrder *order, Run expected, bool begins_target)
{
	const OrderedRun *ordered = next(order);

	g_assert_nonnull(ordered);
	g_assert_cmpint(run_compare(&ordered->run, &expected), ==, 0);
	g_assert_cmpint(ordered->begins_target, ==, begins_target);
}

static void test_without_runs_there_are_no_plans(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(Sorter) runs = runs_new(scratch);
	g_autoptr(RunOrder) order = run_order_new(runs, NULL, NULL);

	g_assert_true(sorter_sort(runs, NULL));
	g_assert_null(next(order));
	g_assert_null(next(order));
}

static void test_targets_come_by_rank_and_runs_by_position(void)
{
	static const Run ordered[] = {
		{ 1, 0, 50, 10, 7 }, { 1, 10, 90, 5, 7 }, { 1, 30, 0, 100, 8 },
		{ 2, 0, 0, 4, 1 },   { 3, 9, 9, 4, 1 },   { 3, 13, 9, 4, 1 },
	};
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(Sorter) runs = runs_new(scratch);
	g_autoptr(RunOrder) order = run_order_new(runs, NULL, NULL);

	for (size_t i = G_N_ELEMENTS(ordered); i > 0; i--)
		add(runs, ordered[i - 1]);
	g_assert_true(sorter_sort(runs, NULL));
	for (size_t i = 0; i < G_N_ELEMENTS(ordered); i++)
		assert_next(order, ordered[i],
			    i == 0 || ordered[i].target_rank != ordered[i - 1].target_rank);
	g_assert_null(next(order));
	g_assert_null(next(order));
}

static void test_of_runs_that_overlap_the_longest_comes_first(void)
{
	static const Run short_first = { 1, 0, 0, 10, 7 };
	static const Run long_second = { 1, 5, 0, 50, 8 };
	static const Run inside = { 1, 20, 0, 30, 9 };
	static const Run last = { 1, 54, 0, 20, 9 };
	static const Run alone = { 1, 74, 0, 90, 9 };
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(Sorter) runs = runs_new(scratch);
	g_autoptr(RunOrder) order = run_order_new(runs, NULL, NULL);

	add(runs, short_first);
	add(runs, long_second);
	add(runs, inside);
	add(runs, last);
	add(runs, alone);
	g_assert_true(sorter_sort(runs, NULL));

	assert_next(order, long_second, true);
	assert_next(order, inside, false);
	assert_next(order, last, false);
	assert_next(order, short_first, false);
	/* It only touches them. */
	assert_next(order, alone, false);
	g_assert_null(next(order));
}

static void test_of_nearly_equally_long_runs_the_lowest_source_comes_first(void)
{
	static const Run ordered[] = {
		/* From a hole. */
		{ 9, 4, 0, 89, RUN_HOLE, 0 },
		{ 9, 2, 0, 88, 8, 1 },
		/* Two of one source: the longer one. */
		{ 9, 1, 0, 95, 3, 2 },
		{ 9, 0, 0, 90, 3, 2 },
		{ 9, 3, 0, 100, 5, 2 },
		/* Less than seven eighths of the longest: by length. */
		{ 9, 5, 0, 87, 7, 3 },
		{ 9, 6, 0, 20, 2, 0 },
	};
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(Sorter) runs = runs_new(scratch);
	g_autoptr(RunOrder) order = run_order_new(runs, NULL, NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(ordered); i++)
		add(runs, ordered[i]);
	g_assert_true(sorter_sort(runs, NULL));
	for (size_t i = 0; i < G_N_ELEMENTS(ordered); i++)
		assert_next(order, ordered[i], i == 0);
	g_assert_null(next(order));
}

static void test_runs_of_other_targets_do_not_overlap(void)
{
	static const Run first = { 1, 0, 0, 10, 7 };
	static const Run second = { 2, 0, 0, 90, 7 };
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(Sorter) runs = runs_new(scratch);
	g_autoptr(RunOrder) order = run_order_new(runs, NULL, NULL);

	add(runs, second);
	add(runs, first);
	g_assert_true(sorter_sort(runs, NULL));
	assert_next(order, first, true);
	assert_next(order, second, true);
}

static bool is_odd(uint32_t target, void *data)
{
	return target % 2 == 1;
}

static void test_targets_that_are_not_wanted_are_passed_over(void)
{
	static const Run first = { 1, 0, 0, 10, 8 };
	static const Run second = { 3, 0, 0, 10, 8 };
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(Sorter) runs = runs_new(scratch);
	g_autoptr(RunOrder) some = run_order_new(runs, is_odd, NULL);
	g_autoptr(RunOrder) all = run_order_new(runs, NULL, NULL);

	add(runs, first);
	add(runs, (Run){ 2, 5, 0, 90, 7 });
	add(runs, second);
	add(runs, (Run){ 4, 0, 0, 90, 7 });
	g_assert_true(sorter_sort(runs, NULL));
	assert_next(some, first, true);
	assert_next(some, second, true);
	g_assert_null(next(some));

	/* The others are still there. */
	g_assert_true(sorter_rewind(runs, NULL));
	for (int i = 0; i < 4; i++)
		g_assert_nonnull(next(all));
	g_assert_null(next(all));
}

static void test_of_equally_long_runs_the_order_is_fixed(void)
{
	static const Run ordered[] = {
		{ 1, 1, 0, 10, 2 },
		{ 1, 0, 3, 10, 5 },
		{ 1, 0, 4, 10, 5 },
		{ 1, 0, 0, 10, 6 },
	};
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(Sorter) runs = runs_new(scratch);
	g_autoptr(RunOrder) order = run_order_new(runs, NULL, NULL);

	for (size_t i = G_N_ELEMENTS(ordered); i > 0; i--)
		add(runs, ordered[i - 1]);
	g_assert_true(sorter_sort(runs, NULL));
	for (size_t i = 0; i < G_N_ELEMENTS(ordered); i++)
		assert_next(order, ordered[i], i == 0);
}

static void test_no_more_than_256_runs_are_held_at_a_time(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(Sorter) runs = runs_new(scratch);
	g_autoptr(RunOrder) order = run_order_new(runs, NULL, NULL);
	uint64_t n = 2 * 256;

	/* Each is longer than the one before. */
	for (uint64_t i = 0; i < n; i++)
		add(runs, (Run){ 1, i, 0, 1000 + i, 7 });
	g_assert_true(sorter_sort(runs, NULL));
	for (uint64_t i = 0; i < n; i++) {
		uint64_t first = i / 256 * 256;
		uint64_t expected = first + 255 - i % 256;

		assert_next(order, (Run){ 1, expected, 0, 1000 + expected, 7 }, i == 0);
	}
}

/* Each run once; targets by rank; runs inside the target last, by position. */
static void test_any_runs_come_once_and_hold_the_promise(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED);

	for (int round = 0; round < 20; round++) {
		g_autoptr(Scratch) scratch = scratch_new();
		g_autoptr(Sorter) runs = runs_new(scratch);
		g_autoptr(RunOrder) order = run_order_new(runs, NULL, NULL);
		uint32_t n = 1 + g_rand_int(rand) % 2000;
		uint32_t span = round % 2 ? 1000 : 100000;
		g_autofree bool *seen = g_new0(bool, n);
		uint64_t promised = 0, rank = 0;
		const OrderedRun *ordered;

		for (uint32_t i = 0; i < n; i++)
			add(runs, (Run){ 1 + g_rand_int(rand) % 5, g_rand_int(rand) % span,
					 g_rand_int(rand) % span, 1 + g_rand_int(rand) % 300, i });
		g_assert_true(sorter_sort(runs, NULL));

		while ((ordered = next(order))) {
			g_assert_cmpint(ordered->begins_target, ==,
					ordered->run.target_rank != rank);
			g_assert_cmpuint(ordered->run.target_rank, >=, rank);
			promised = ordered->begins_target ? 0 : promised;
			rank = ordered->run.target_rank;
			g_assert_true(run_is_inside(&ordered->run) || !promised);
			if (run_is_inside(&ordered->run)) {
				g_assert_cmpuint(ordered->run.target_block + 1, >=, promised);
				promised = ordered->run.target_block + 1;
			}
			g_assert_false(seen[ordered->run.source]);
			seen[ordered->run.source] = true;
		}
		for (uint32_t i = 0; i < n; i++)
			g_assert_true(seen[i]);
	}
}

static void test_runs_compare_in_the_order_of_planning(void)
{
	static const Run ordered[] = {
		{ 1, 9, 9, 9, 9 }, { 2, 0, 9, 1, 9 }, { 2, 1, 9, 8, 9 },          { 2, 1, 9, 7, 1 },
		{ 2, 1, 2, 7, 2 }, { 2, 1, 3, 7, 2 }, { UINT64_MAX, 0, 0, 1, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(ordered); i++) {
		for (size_t j = 0; j < G_N_ELEMENTS(ordered); j++) {
			int compared = run_compare(&ordered[i], &ordered[j]);

			g_assert_cmpint((compared > 0) - (compared < 0), ==, (i > j) - (i < j));
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/run-order/without-runs-there-are-no-plans",
			test_without_runs_there_are_no_plans);
	g_test_add_func("/run-order/targets-come-by-rank-and-runs-by-position",
			test_targets_come_by_rank_and_runs_by_position);
	g_test_add_func("/run-order/of-runs-that-overlap-the-longest-comes-first",
			test_of_runs_that_overlap_the_longest_comes_first);
	g_test_add_func("/run-order/of-nearly-equally-long-runs-the-lowest-source-comes-first",
			test_of_nearly_equally_long_runs_the_lowest_source_comes_first);
	g_test_add_func("/run-order/runs-of-other-targets-do-not-overlap",
			test_runs_of_other_targets_do_not_overlap);
	g_test_add_func("/run-order/targets-that-are-not-wanted-are-passed-over",
			test_targets_that_are_not_wanted_are_passed_over);
	g_test_add_func("/run-order/of-equally-long-runs-the-order-is-fixed",
			test_of_equally_long_runs_the_order_is_fixed);
	g_test_add_func("/run-order/no-more-than-256-runs-are-held-at-a-time",
			test_no_more_than_256_runs_are_held_at_a_time);
	g_test_add_func("/run-order/any-runs-come-once-and-hold-the-promise",
			test_any_runs_come_once_and_hold_the_promise);
	g_test_add_func("/run-order/runs-compare-in-the-order-of-planning",
			test_runs_compare_in_the_order_of_planning);

	return g_test_run();
}
