/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/zeros.h"

#include <glib.h>

#define GIB (UINT64_C(1) << 30)

static void test_thick_files_are_known_by_their_looks(void)
{
	static const struct {
		ZerosEvidence evidence;
		bool provisioned;
	} cases[] = {
		/* Size, has a hole, has unwritten extents, name. */
		{ { 4096, false, false, "letter" }, false },
		{ { GIB - 1, false, false, "letter" }, false },
		{ { GIB, false, false, "letter" }, true },
		{ { GIB, true, false, "letter" }, false },
		{ { GIB, true, true, "letter" }, true },
		{ { 4096, false, true, "letter" }, true },
		{ { 4096, true, true, "letter" }, true },
		{ { 4096, false, false, "disk.img" }, true },
		{ { 4096, true, false, "disk.img" }, false },
		{ { 4096, false, false, "DISK.IMG" }, true },
		{ { 4096, false, false, "disk.raw" }, true },
		{ { 4096, false, false, "disk.qcow2" }, true },
		{ { 4096, false, false, "disk.vmdk" }, true },
		{ { 4096, false, false, "disk.vdi" }, true },
		{ { 4096, false, false, "disk.vhdx" }, true },
		{ { 4096, false, false, "disk.img.bak" }, false },
		{ { 4096, false, false, "disk.imgx" }, false },
		{ { 4096, false, false, "img" }, false },
		{ { 4096, false, false, ".img" }, true },
		{ { 4096, false, false, "disk." }, false },
		{ { 4096, false, false, "" }, false },
		{ { 0, false, false, "letter" }, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(zeros_look_provisioned(&cases[i].evidence), ==,
				cases[i].provisioned);
}

static void test_the_policy_decides_what_zeros_become(void)
{
	static const struct {
		ZerosPolicy policy;
		bool provisioned;
		bool become_holes;
	} cases[] = {
		{ ZEROS_AUTO, false, true },   { ZEROS_AUTO, true, false },
		{ ZEROS_HOLE, false, true },   { ZEROS_HOLE, true, true },
		{ ZEROS_KEEP, false, false },  { ZEROS_KEEP, true, false },
		{ ZEROS_SHARE, false, false }, { ZEROS_SHARE, true, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(zeros_become_holes(cases[i].policy, cases[i].provisioned), ==,
				cases[i].become_holes);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/zeros/thick-files-are-known-by-their-looks",
			test_thick_files_are_known_by_their_looks);
	g_test_add_func("/zeros/the-policy-decides-what-zeros-become",
			test_the_policy_decides_what_zeros_become);

	return g_test_run();
}
