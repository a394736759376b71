/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/quota-options.h"

#include <glib.h>

static void test_quota_is_told_by_the_options_that_the_kernel_shows(void)
{
	static const struct {
		const char *options;
		bool on;
	} cases[] = {
		{ "rw,attr2,inode64,logbufs=8,logbsize=32k,noquota", false },
		{ "rw,inode64,usrquota", true },
		{ "rw,uqnoenforce,inode64", true },
		{ "rw,grpquota", true },
		{ "rw,gqnoenforce", true },
		{ "prjquota,rw", true },
		{ "rw,usrquota,grpquota,prjquota", true },
		{ "rw,pqnoenforce", true },
		{ "rw,myquota,swidth=usrquota", false },
		{ "", false },
		{ NULL, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(quota_options_are_on(cases[i].options), ==, cases[i].on);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/quota-options/quota-is-told-by-the-options-that-the-kernel-shows",
			test_quota_is_told_by_the_options_that_the_kernel_shows);
	return g_test_run();
}
