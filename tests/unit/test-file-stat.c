/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/file-stat.h"

#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define NSEC_PER_SEC INT64_C(1000000000)

static void test_a_stat_says_what_the_file_is(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 10001, 1);
	FileStat stat;
	struct stat expected;

	g_assert_cmpint(linkat(scratch->fd, "file", scratch->fd, "link", 0), ==, 0);
	g_assert_cmpint(fsync(fd), ==, 0);
	g_assert_cmpint(fstat(fd, &expected), ==, 0);

	g_assert_cmpint(file_stat_at(scratch->fd, "link", &stat), ==, 0);
	g_assert_cmpuint(stat.inode, ==, expected.st_ino);
	g_assert_cmpuint(stat.size_bytes, ==, 10001);
	g_assert_cmpint(stat.ctime_nsec, ==,
			expected.st_ctim.tv_sec * NSEC_PER_SEC + expected.st_ctim.tv_nsec);
	g_assert_cmpuint(stat.nlink, ==, 2);
	g_assert_cmpuint(stat.uid, ==, geteuid());
	g_assert_true(S_ISREG(stat.mode));
	g_assert_false(stat.is_mount_root);
	g_assert_false(stat.is_immutable);
}

static void test_an_empty_name_is_the_descriptor(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 5, 1);
	FileStat by_name, by_fd;

	g_assert_cmpint(file_stat_at(scratch->fd, "file", &by_name), ==, 0);
	g_assert_cmpint(file_stat_at(fd, "", &by_fd), ==, 0);
	g_assert_cmpuint(by_fd.inode, ==, by_name.inode);
	g_assert_cmpuint(by_fd.mount_id, ==, by_name.mount_id);
	g_assert_cmpuint(by_fd.mount_id, !=, 0);
}

static void test_a_symlink_is_not_followed(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	FileStat stat;

	g_assert_cmpint(symlinkat("nowhere", scratch->fd, "symlink"), ==, 0);
	g_assert_cmpint(file_stat_at(scratch->fd, "symlink", &stat), ==, 0);
	g_assert_true(S_ISLNK(stat.mode));
}

static void test_a_missing_file_is_an_errno_value(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	FileStat stat;

	g_assert_cmpint(file_stat_at(scratch->fd, "missing", &stat), ==, ENOENT);
	g_assert_cmpint(file_stat_at(-1, "", &stat), ==, EBADF);
}

static int64_t mtime_after_setting(int dir_fd, int fd, time_t seconds, long nsec)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = seconds, .tv_nsec = nsec } };
	FileStat stat;

	g_assert_cmpint(futimens(fd, times), ==, 0);
	g_assert_cmpint(file_stat_at(dir_fd, "file", &stat), ==, 0);
	return stat.mtime_nsec;
}

static void test_times_are_nanoseconds_on_both_sides_of_1970(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 5, 1);

	g_assert_cmpint(mtime_after_setting(scratch->fd, fd, 1, 5), ==, NSEC_PER_SEC + 5);
	g_assert_cmpint(mtime_after_setting(scratch->fd, fd, -1, 999999999), ==, -1);
}

static void test_a_time_beyond_64_bits_is_the_last_one(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 5, 1);
	int64_t nsec = mtime_after_setting(scratch->fd, fd, INT64_C(12000000000), 0);
	struct stat st;

	g_assert_cmpint(fstat(fd, &st), ==, 0);
	if (st.st_mtim.tv_sec < INT64_C(12000000000))
		g_test_skip("this filesystem cannot hold such a time");
	else
		g_assert_cmpint(nsec, ==, INT64_MAX);
}

static void test_a_mount_point_is_recognised(void)
{
	FileStat proc, root;

	g_assert_cmpint(file_stat_at(AT_FDCWD, "/proc", &proc), ==, 0);
	g_assert_cmpint(file_stat_at(AT_FDCWD, "/", &root), ==, 0);
	g_assert_true(proc.is_mount_root);
	g_assert_cmpuint(proc.mount_id, !=, root.mount_id);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/file-stat/a-stat-says-what-the-file-is",
			test_a_stat_says_what_the_file_is);
	g_test_add_func("/file-stat/an-empty-name-is-the-descriptor",
			test_an_empty_name_is_the_descriptor);
	g_test_add_func("/file-stat/a-symlink-is-not-followed", test_a_symlink_is_not_followed);
	g_test_add_func("/file-stat/a-missing-file-is-an-errno-value",
			test_a_missing_file_is_an_errno_value);
	g_test_add_func("/file-stat/times-are-nanoseconds-on-both-sides-of-1970",
			test_times_are_nanoseconds_on_both_sides_of_1970);
	g_test_add_func("/file-stat/a-time-beyond-64-bits-is-the-last-one",
			test_a_time_beyond_64_bits_is_the_last_one);
	g_test_add_func("/file-stat/a-mount-point-is-recognised", test_a_mount_point_is_recognised);

	return g_test_run();
}
