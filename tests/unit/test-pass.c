/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/pass.h"

#include <glib.h>

#define HOUR_USEC (INT64_C(3600) * G_USEC_PER_SEC)

static void test_a_pass_belongs_to_the_day_on_which_it_began(void)
{
	static const struct {
		int64_t started_usec;
		uint32_t day;
	} cases[] = {
		{ 0, 0 },
		{ 24 * HOUR_USEC - 1, 0 },
		{ 24 * HOUR_USEC, 1 },
		{ INT64_C(1700000000) * G_USEC_PER_SEC, 19675 }, /* 2023-11-14 */
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		PassResult result = { .started_usec = cases[i].started_usec };
		Pass pass = { .result = &result };

		g_assert_cmpuint(pass_day(&pass), ==, cases[i].day);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pass/day", test_a_pass_belongs_to_the_day_on_which_it_began);
	return g_test_run();
}
