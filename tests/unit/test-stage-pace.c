/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/stage-pace.h"

#include <glib.h>

#define SECOND_USEC UINT64_C(1000000)
#define NOW_USEC    (INT64_C(1000) * 1000000)

static StagePace pace_of(uint64_t seconds, uint64_t done, uint64_t total)
{
	const DaemonFilesystem filesystem = {
		.stage_started_usec = (uint64_t)NOW_USEC - seconds * SECOND_USEC,
		.stage_bytes = done,
		.stage_total_bytes = total,
	};

	return stage_pace(&filesystem, NOW_USEC);
}

static void test_the_rest_takes_as_long_as_what_was_done_had_it_take(void)
{
	StagePace pace = pace_of(10, 1000, 4000);

	g_assert_true(pace.has_rate && pace.has_left);
	g_assert_cmpuint(pace.rate_bytes, ==, 100);
	g_assert_cmpint(pace.left_usec, ==, 30 * (int64_t)SECOND_USEC);
}

static void test_more_may_be_done_than_was_to_do(void)
{
	StagePace pace = pace_of(10, 5000, 4000);

	g_assert_true(pace.has_left);
	g_assert_cmpint(pace.left_usec, ==, 0);
}

static void test_what_cannot_be_known_is_not_said(void)
{
	StagePace no_total = pace_of(10, 1000, 0);

	g_assert_true(no_total.has_rate);
	g_assert_false(no_total.has_left);
	/* Nothing was done yet, the stage has just begun, or the clock was set back. */
	g_assert_false(pace_of(10, 0, 4000).has_rate);
	g_assert_false(pace_of(0, 1000, 4000).has_rate);
	g_assert_false(pace_of((uint64_t)-60, 1000, 4000).has_rate);
	/* No pass runs. */
	g_assert_false(stage_pace(&(DaemonFilesystem){ .stage_bytes = 1 }, NOW_USEC).has_rate);
}

static void test_numbers_of_any_size_do(void)
{
	StagePace pace = pace_of(1, 1, UINT64_MAX);

	g_assert_true(pace.has_left);
	g_assert_cmpint(pace.left_usec, >, 0);
	g_assert_cmpuint(pace_of(1, UINT64_MAX, UINT64_MAX).rate_bytes, >, UINT64_MAX / 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/stage-pace/rest",
			test_the_rest_takes_as_long_as_what_was_done_had_it_take);
	g_test_add_func("/stage-pace/more", test_more_may_be_done_than_was_to_do);
	g_test_add_func("/stage-pace/unknown", test_what_cannot_be_known_is_not_said);
	g_test_add_func("/stage-pace/large", test_numbers_of_any_size_do);
	return g_test_run();
}
