/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/schedule-inputs.h"

#include <glib.h>

static void test_each_setting_decides_its_part_of_the_policy(void)
{
	static const struct {
		Settings settings;
		bool only_if_asked, respects_sleep, runs_on_battery, runs_degraded;
	} cases[] = {
		{ { .mode = MODE_RESIDENT, .sleeping = SLEEPING_WAKE },
		  false,
		  false,
		  false,
		  false },
		{ { .mode = MODE_TIMER, .sleeping = SLEEPING_WAKE }, true, false, false, false },
		{ { .mode = MODE_RESIDENT, .sleeping = SLEEPING_RESPECT },
		  false,
		  true,
		  false,
		  false },
		{ { .mode = MODE_RESIDENT, .sleeping = SLEEPING_WAKE, .on_battery = HARDSHIP_RUN },
		  false,
		  false,
		  true,
		  false },
		{ { .mode = MODE_RESIDENT, .sleeping = SLEEPING_WAKE, .degraded = HARDSHIP_RUN },
		  false,
		  false,
		  false,
		  true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		SchedulePolicy policy = schedule_inputs_policy(&cases[i].settings);

		g_assert_cmpint(policy.only_if_asked, ==, cases[i].only_if_asked);
		g_assert_cmpint(policy.respects_sleep, ==, cases[i].respects_sleep);
		g_assert_cmpint(policy.runs_on_battery, ==, cases[i].runs_on_battery);
		g_assert_cmpint(policy.runs_degraded, ==, cases[i].runs_degraded);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/schedule-inputs/policy",
			test_each_setting_decides_its_part_of_the_policy);
	return g_test_run();
}
