/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/exit-status.h"

#include <glib.h>

static void test_the_worse_of_two_stays_whichever_came_first(void)
{
	static const ExitStatus order[] = {
		EXIT_STATUS_DONE,   EXIT_STATUS_UNREADABLE,   EXIT_STATUS_STOPPED,
		EXIT_STATUS_IN_USE, EXIT_STATUS_DISK_FAILING, EXIT_STATUS_FAILED,
		EXIT_STATUS_SIGNAL,
	};

	for (size_t i = 0; i < G_N_ELEMENTS(order); i++)
		for (size_t j = 0; j < G_N_ELEMENTS(order); j++)
			g_assert_cmpint(exit_status_worse(order[i], order[j]), ==,
					order[MAX(i, j)]);
	g_assert_cmpint(exit_status_worse(EXIT_STATUS_NEEDS_DAEMON, EXIT_STATUS_SIGNAL), ==,
			EXIT_STATUS_NEEDS_DAEMON);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/exit-status/the-worse-of-two",
			test_the_worse_of_two_stays_whichever_came_first);

	return g_test_run();
}
