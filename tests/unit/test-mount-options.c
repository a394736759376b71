/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/mount-options.h"

#include <glib.h>
#include <string.h>

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
		g_assert_cmpint(mount_options_count_quota(cases[i].options), ==, cases[i].on);
}

static void test_either_kind_of_options_says_read_only(void)
{
	g_assert_true(mount_options_are_read_only("ro,relatime", "rw,noquota"));
	g_assert_true(mount_options_are_read_only("rw,relatime", "ro,noquota"));
	g_assert_true(mount_options_are_read_only("ro", NULL));
	g_assert_false(mount_options_are_read_only("rw,errors=remount-ro", "rw,ronly"));
	g_assert_false(mount_options_are_read_only(NULL, NULL));
}

static void test_a_refusal_names_what_was_asked_for_and_what_to_change(void)
{
	g_autofree char *reflink = mount_options_refusal("/mnt/a/file", "/mnt/a", false, true);
	g_autofree char *read_only = mount_options_refusal("/mnt/a/file", "/mnt/a", true, true);

	g_assert_true(
		g_str_has_prefix(reflink, "/mnt/a/file is on an XFS filesystem without reflink"));
	g_assert_nonnull(strstr(reflink, "mkfs.xfs -m reflink=1"));
	g_assert_true(g_str_has_prefix(read_only, "/mnt/a is mounted read-only"));
	g_assert_null(mount_options_refusal("/mnt/a/file", "/mnt/a", true, false));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/mount-options/quota-is-told-by-the-options-that-the-kernel-shows",
			test_quota_is_told_by_the_options_that_the_kernel_shows);
	g_test_add_func("/mount-options/either-kind-of-options-says-read-only",
			test_either_kind_of_options_says_read_only);
	g_test_add_func("/mount-options/a-refusal-names-what-was-asked-for-and-what-to-change",
			test_a_refusal_names_what_was_asked_for_and_what_to_change);
	return g_test_run();
}
