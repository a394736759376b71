/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/target-permission.h"
#include "tests/unit/scratch.h"

#include <sys/stat.h>
#include <unistd.h>

/* Make a file of the test's user with @mode.  Permission matters only for files of others. */
static FileStat create(Scratch *scratch, mode_t mode)
{
	g_auto(Fd) fd = scratch_create(scratch, "file", 4096, 1);
	FileStat stat;

	g_assert_no_errno(fchmod(fd, mode));
	g_assert_cmpint(file_stat_at(scratch->fd, "file", &stat), ==, 0);
	return stat;
}

static void test_ones_own_files_may_be_targets_whatever_their_mode(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	FileStat stat = create(scratch, 0400);
	TargetPermission owner = { .uid = stat.uid };

	g_assert_true(target_permission_covers(&owner, scratch->fd, "file", &stat));
}

static void test_the_privileged_may_share_onto_any_file(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	FileStat stat = create(scratch, 0400);
	TargetPermission privileged = { .is_privileged = true, .uid = stat.uid + 1 };

	g_assert_true(target_permission_covers(&privileged, scratch->fd, "file", &stat));
}

static void test_files_of_others_that_none_but_they_write_are_no_targets(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	FileStat stat = create(scratch, 0755);
	TargetPermission other = { .uid = stat.uid + 1 };

	g_assert_false(target_permission_covers(&other, scratch->fd, "file", &stat));
}

static void covers_what_nobody_may_write(void *data)
{
	const Scratch *scratch = data;
	TargetPermission nobody;
	FileStat stat;
	bool covers;

	scratch_become_nobody();
	nobody = target_permission_get();
	g_assert_false(nobody.is_privileged);
	g_assert_cmpuint(nobody.uid, ==, geteuid());
	g_assert_cmpint(file_stat_at(scratch->fd, "file", &stat), ==, 0);
	nobody.uid = stat.uid + 1; /* where the test is not run by root, the file is its user's */
	covers = target_permission_covers(&nobody, scratch->fd, "file", &stat);
	g_assert_cmpint(covers, ==, stat.mode & S_IWOTH || stat.uid == geteuid());
}

static void test_files_of_others_that_one_may_write_are_targets(void)
{
	static const mode_t modes[] = { 0666, 0664, 0644 };

	for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
		g_autoptr(Scratch) scratch = scratch_new();

		g_assert_no_errno(chmod(scratch->path, 0711));
		create(scratch, modes[i]);
		if (geteuid() == 0 || modes[i] != 0644)
			scratch_run_in_child(covers_what_nobody_may_write, scratch);
	}
}

static void test_root_is_privileged(void)
{
	if (geteuid() != 0)
		g_test_skip("not run by root");
	else
		g_assert_true(target_permission_get().is_privileged);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/target-permission/ones-own-files-may-be-targets-whatever-their-mode",
			test_ones_own_files_may_be_targets_whatever_their_mode);
	g_test_add_func("/target-permission/the-privileged-may-share-onto-any-file",
			test_the_privileged_may_share_onto_any_file);
	g_test_add_func(
		"/target-permission/files-of-others-that-none-but-they-write-are-no-targets",
		test_files_of_others_that_none_but_they_write_are_no_targets);
	g_test_add_func("/target-permission/files-of-others-that-one-may-write-are-targets",
			test_files_of_others_that_one_may_write_are_targets);
	g_test_add_func("/target-permission/root-is-privileged", test_root_is_privileged);

	return g_test_run();
}
