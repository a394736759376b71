/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/system/look-day.h"

#include <glib.h>

static void test_work_is_due_after_its_interval_and_when_the_clock_was_wrong(void)
{
	static const struct {
		uint64_t last_day;
		uint64_t today;
		bool is_due;
	} rows[] = {
		{ 20000, 20000, false },
		{ 20000, 20006, false },
		{ 20000, 20007, true },
		{ 20000, 30000, true },
		{ 0, 20000, true },          /* never, or with a clock that began in 1970 */
		{ 0, 0, false },             /* a clock that is still in 1970 */
		{ 20001, 20000, true },      /* the clock was set back by a day */
		{ 24000, 20000, true },      /* by years */
		{ 20000, 0, true },          /* to 1970 */
		{ UINT64_MAX, 20000, true }, /* without an overflow */
		{ UINT64_MAX - 3, UINT64_MAX, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		g_assert_cmpint(look_day_is_due(rows[i].last_day, rows[i].today, 7), ==,
				rows[i].is_due);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/look-day/due",
			test_work_is_due_after_its_interval_and_when_the_clock_was_wrong);
	return g_test_run();
}
