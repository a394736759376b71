/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/rescan-backoff.h"

#include <glib.h>

#define HOUR UINT64_C(3600)
#define DAY  (24 * HOUR)
#define THEN UINT64_C(1700000000)

static void test_waits_double_up_to_a_week(void)
{
	static const struct {
		uint32_t changes;
		uint64_t wait_sec;
	} rows[] = {
		{ 0, 0 },
		{ 1, 0 },
		{ 2, 0 },
		{ 3, HOUR },
		{ 4, 2 * HOUR },
		{ 5, 4 * HOUR },
		{ 10, 128 * HOUR },
		{ 11, 7 * DAY },
		{ 12, 7 * DAY },
		{ 1000, 7 * DAY },
		{ UINT32_MAX, 7 * DAY },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		g_assert_cmpuint(rescan_backoff_wait_sec(rows[i].changes), ==, rows[i].wait_sec);
}

static void test_it_waits_since_the_last_change_was_met(void)
{
	g_assert_false(rescan_backoff_waits(2, THEN, THEN));
	g_assert_true(rescan_backoff_waits(3, THEN, THEN));
	g_assert_true(rescan_backoff_waits(3, THEN, THEN + HOUR - 1));
	g_assert_false(rescan_backoff_waits(3, THEN, THEN + HOUR));
	g_assert_true(rescan_backoff_waits(UINT32_MAX, THEN, THEN + 7 * DAY - 1));
	g_assert_false(rescan_backoff_waits(UINT32_MAX, THEN, THEN + 7 * DAY));
}

static void test_a_clock_that_was_set_back_does_not_make_it_wait(void)
{
	g_assert_false(rescan_backoff_waits(20, THEN, THEN - 1));
}

/* How often a file is read in four weeks that is written all the time, with a pass every ten minutes. */
static void test_what_always_changes_is_hardly_ever_read(void)
{
	uint32_t changes = 0;
	uint64_t read_sec = THEN;
	unsigned n_read = 0;

	for (uint64_t now = THEN; now < THEN + 28 * DAY; now += 600) {
		if (rescan_backoff_waits(changes, read_sec, now))
			continue;
		changes++;
		read_sec = now;
		n_read++;
	}
	g_assert_cmpuint(n_read, <, 15);
	g_assert_cmpuint(n_read, >, 12);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/change-pace/waits-double-up-to-a-week", test_waits_double_up_to_a_week);
	g_test_add_func("/change-pace/it-waits-since-the-last-change-was-met",
			test_it_waits_since_the_last_change_was_met);
	g_test_add_func("/change-pace/a-clock-that-was-set-back-does-not-make-it-wait",
			test_a_clock_that_was_set_back_does_not_make_it_wait);
	g_test_add_func("/change-pace/what-always-changes-is-hardly-ever-read",
			test_what_always_changes_is_hardly_ever_read);

	return g_test_run();
}
