/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/stamp.h"

#include <glib.h>

#define SECOND INT64_C(1000000000)
#define NOW    (1750000000 * SECOND)

static const Stamp stored = { 4096, 100, 200, 300 };

static void test_a_stamp_tells_what_changed(void)
{
	static const struct {
		Stamp seen;
		StampVerdict verdict;
	} cases[] = {
		{ { 4096, 100, 200, 300 }, STAMP_SAME },
		{ { 4096, 100, 200, 301 }, STAMP_DOUBTED },
		{ { 4096, 100, 200, 299 }, STAMP_DOUBTED }, /* a clock that was set back */
		{ { 4096, 100, 201, 300 }, STAMP_CHANGED },
		{ { 4096, 100, 201, 301 }, STAMP_CHANGED },
		{ { 4096, 101, 200, 300 }, STAMP_CHANGED }, /* the inode number was given anew */
		{ { 4096, 101, 200, 301 }, STAMP_CHANGED },
		{ { 4097, 100, 200, 300 }, STAMP_CHANGED },
		{ { 4097, 100, 200, 301 }, STAMP_CHANGED },
		{ { 0, 0, 0, 0 }, STAMP_CHANGED },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(stamp_compare(&stored, &cases[i].seen), ==, cases[i].verdict);
}

static void test_a_stamp_of_the_last_second_is_racy(void)
{
	static const struct {
		int64_t ctime_nsec;
		bool racy;
	} cases[] = {
		{ NOW, true },
		{ NOW - 1, true },
		{ NOW - SECOND + 1, true },
		{ NOW - SECOND, false },
		{ NOW - 2 * SECOND, false },
		{ NOW + 1, true }, /* the clock of inode times and ours are not one */
		{ NOW + SECOND - 1, true },
		{ NOW + SECOND, false },
		{ NOW + 1000 * SECOND, false },
		{ 0, false },
		{ -SECOND, false },
		{ INT64_MIN, false },
		{ INT64_MAX, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		Stamp stamp = { .ctime_nsec = cases[i].ctime_nsec };

		g_assert_cmpint(stamp_is_racy(&stamp, NOW), ==, cases[i].racy);
	}
}

static void test_only_ctime_makes_a_stamp_racy(void)
{
	Stamp stamp = { 4096, NOW, NOW, NOW - 5 * SECOND };

	g_assert_false(stamp_is_racy(&stamp, NOW));
}

static void test_a_doubted_file_is_read_again_once_in_the_month_after(void)
{
	for (uint32_t object = 1; object < 100; object++) {
		uint32_t first_due = 0;

		for (uint32_t day = 20000; day < 20100; day++) {
			bool due = stamp_recheck_is_due(20000, day, object);

			if (due && !first_due)
				first_due = day;
			/* A file not looked at on the day is due on any later one. */
			g_assert_true(due || !first_due);
		}
		g_assert_cmpuint(first_due, >, 20000);
		g_assert_cmpuint(first_due, <=, 20031);
	}
}

static void test_a_day_in_the_future_is_due(void)
{
	for (uint32_t object = 1; object < 100; object++) {
		g_assert_true(stamp_recheck_is_due(20000, 19999, object));
		g_assert_true(stamp_recheck_is_due(UINT32_MAX, 20000, object));
		g_assert_false(stamp_recheck_is_due(20000, 20000, object));
	}
}

static void test_doubted_files_are_spread_over_the_month(void)
{
	unsigned n_due = 0;

	for (uint32_t day = 20001; day <= 20030; day++) {
		unsigned n_new = 0;

		for (uint32_t object = 1; object <= 3000; object++)
			n_new += stamp_recheck_is_due(20000, day, object) &&
				 !stamp_recheck_is_due(20000, day - 1, object);
		g_assert_cmpuint(n_new, ==, 100);
		n_due += n_new;
	}
	g_assert_cmpuint(n_due, ==, 3000);
}

static void test_a_file_that_is_not_doubted_is_never_due(void)
{
	for (uint32_t object = 1; object < 100; object++)
		g_assert_false(stamp_recheck_is_due(0, 20000, object));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/stamp/a-stamp-tells-what-changed", test_a_stamp_tells_what_changed);
	g_test_add_func("/stamp/a-stamp-of-the-last-second-is-racy",
			test_a_stamp_of_the_last_second_is_racy);
	g_test_add_func("/stamp/only-ctime-makes-a-stamp-racy", test_only_ctime_makes_a_stamp_racy);
	g_test_add_func("/stamp/a-doubted-file-is-read-again-once-in-the-month-after",
			test_a_doubted_file_is_read_again_once_in_the_month_after);
	g_test_add_func("/stamp/a-day-in-the-future-is-due", test_a_day_in_the_future_is_due);
	g_test_add_func("/stamp/doubted-files-are-spread-over-the-month",
			test_doubted_files_are_spread_over_the_month);
	g_test_add_func("/stamp/a-file-that-is-not-doubted-is-never-due",
			test_a_file_that_is_not_doubted_is_never_due);

	return g_test_run();
}
