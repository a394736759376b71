/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/disk-stat.h"

#include <glib.h>

static void assert_is_understood(const char *text)
{
	DiskStat stat;

	g_assert_true(disk_stat_parse(text, &stat));
	g_assert_cmpuint(stat.reads, ==, 1);
	g_assert_cmpuint(stat.read_bytes, ==, 3 * 512);
	g_assert_cmpuint(stat.read_msec, ==, 4);
	g_assert_cmpuint(stat.writes, ==, 5);
	g_assert_cmpuint(stat.write_bytes, ==, 7 * 512);
	g_assert_cmpuint(stat.write_msec, ==, 8);
	g_assert_cmpuint(stat.in_flight, ==, 9);
	g_assert_cmpuint(stat.busy_msec, ==, 10);
}

static void test_what_kernels_ever_wrote_is_understood(void)
{
	assert_is_understood("       1        2        3        4        5        6        7"
			     "        8        9       10       11\n");
	assert_is_understood("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n");
}

static void test_what_is_cut_short_or_gone_is_refused(void)
{
	DiskStat stat;

	g_assert_false(disk_stat_parse("", &stat));
	g_assert_false(disk_stat_parse("1 2 3 4 5 6 7 8 9", &stat));
	g_assert_false(disk_stat_parse("1 2 3 4 five 6 7 8 9 10 11", &stat));
	g_assert_false(disk_stat_read("/sys/block/no such disk/stat", &stat));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/disk-stat/what-kernels-ever-wrote-is-understood",
			test_what_kernels_ever_wrote_is_understood);
	g_test_add_func("/disk-stat/what-is-cut-short-or-gone-is-refused",
			test_what_is_cut_short_or_gone_is_refused);

	return g_test_run();
}
