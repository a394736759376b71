/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/known-kernels.h"

#include <glib.h>

static void test_the_stable_release_is_told_by_upstream_or_by_debian(void)
{
	static const struct {
		const char *release, *version;
		unsigned branch;
		int stable;
	} cases[] = {
		{ "6.18.44", "#1 SMP", 6018, 44 },
		{ "6.3.4-201.fc38.x86_64", "#1 SMP", 6003, 4 },
		{ "6.3.0", "#1 SMP", 6003, 0 },
		{ "6.1.0-40-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-08-01)", 6001,
		  176 },
		{ "6.8.0-64-generic", "#67-Ubuntu SMP", 6008, -1 },
		{ "5.14.0-503.el9.x86_64", "#1 SMP", 5014, -1 },
		{ "7.3-rc2", "#1 SMP", 7003, -1 },
		{ "6", "#1 SMP", 0, -1 },
		{ "rolling", "#1 SMP", 0, -1 },
		{ "6.1000", "#1 SMP", 0, -1 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		KernelRelease kernel = kernel_release(cases[i].release, cases[i].version);

		g_test_message("%s", cases[i].release);
		g_assert_cmpuint(kernel.branch, ==, cases[i].branch);
		g_assert_cmpint(kernel.stable, ==, cases[i].stable);
	}
}

static unsigned count_bugs(const KernelRelease *kernel, FsKind kind)
{
	const KernelBug *bug = NULL;
	unsigned n = 0;

	while ((bug = kernel_bug_next(kernel, kind, bug)))
		n++;
	return n;
}

static void test_a_bug_ends_with_the_stable_release_that_repaired_it(void)
{
	static const struct {
		unsigned branch;
		int stable;
		FsKind kind;
		unsigned n;
	} cases[] = {
		{ 6001, 177, FS_KIND_XFS, 1 }, { 6001, 178, FS_KIND_XFS, 0 },
		{ 6001, -1, FS_KIND_XFS, 1 },  { 6018, 38, FS_KIND_XFS, 2 },
		{ 6018, 39, FS_KIND_XFS, 1 },  { 7002, 3, FS_KIND_BTRFS, 1 },
		{ 7002, 4, FS_KIND_BTRFS, 0 }, { 5015, 64, FS_KIND_XFS, 3 },
		{ 5015, 212, FS_KIND_XFS, 2 }, { 7003, 0, FS_KIND_XFS, 0 },
		{ 7003, 0, FS_KIND_BTRFS, 0 }, { 0, -1, FS_KIND_BTRFS, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		KernelRelease kernel = { cases[i].branch, cases[i].stable };

		g_test_message("%u.%d", cases[i].branch, cases[i].stable);
		g_assert_cmpuint(count_bugs(&kernel, cases[i].kind), ==, cases[i].n);
	}
}

static void test_work_is_refused_only_if_harm_is_certain(void)
{
	static const struct {
		unsigned branch;
		int stable;
		FsKind kind;
		bool is_refused;
	} cases[] = {
		{ 5010, -1, FS_KIND_BTRFS, true },  { 5010, 200, FS_KIND_BTRFS, true },
		{ 5010, 200, FS_KIND_XFS, false },  { 5013, 0, FS_KIND_BTRFS, false },
		{ 6003, 4, FS_KIND_XFS, true },     { 6003, 5, FS_KIND_XFS, false },
		{ 6003, 4, FS_KIND_BTRFS, false },  { 6011, 5, FS_KIND_BTRFS, true },
		{ 6011, -1, FS_KIND_BTRFS, false }, { 6011, 6, FS_KIND_BTRFS, false },
		{ 6001, 100, FS_KIND_XFS, false },  { 0, -1, FS_KIND_BTRFS, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		KernelRelease kernel = { cases[i].branch, cases[i].stable };
		g_autofree char *refusal = kernel_release_refusal(&kernel, cases[i].kind);

		g_test_message("%u.%d", cases[i].branch, cases[i].stable);
		g_assert_true((refusal != NULL) == cases[i].is_refused);
	}
}

static void test_the_environment_allows_any_kernel(void)
{
	g_setenv(ANY_KERNEL_VARIABLE, "1", true);
	g_assert_null(known_kernels_refusal(FS_KIND_BTRFS));
	g_assert_null(known_kernels_refusal(FS_KIND_XFS));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/known-kernels/the-stable-release-is-told-by-upstream-or-by-debian",
			test_the_stable_release_is_told_by_upstream_or_by_debian);
	g_test_add_func("/known-kernels/a-bug-ends-with-the-stable-release-that-repaired-it",
			test_a_bug_ends_with_the_stable_release_that_repaired_it);
	g_test_add_func("/known-kernels/work-is-refused-only-if-harm-is-certain",
			test_work_is_refused_only_if_harm_is_certain);
	g_test_add_func("/known-kernels/the-environment-allows-any-kernel",
			test_the_environment_allows_any_kernel);
	return g_test_run();
}
