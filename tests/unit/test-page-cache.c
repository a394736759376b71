/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/page-cache.h"

#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MIB  (UINT64_C(1) << 20)
#define SIZE (8 * MIB + 1000)

#define SYS_CACHESTAT 451

static bool can_drop(const Scratch *scratch)
{
	struct statfs state;

	g_assert_cmpint(fstatfs(scratch->fd, &state), ==, 0);
	if (state.f_type != TMPFS_MAGIC)
		return true;
	g_test_skip("tmpfs is page cache, which cannot be dropped");
	return false;
}

static int create_clean_file(Scratch *scratch)
{
	int fd = scratch_create(scratch, "file", SIZE, 1);

	g_assert_cmpint(fsync(fd), ==, 0);
	return fd;
}

static uint64_t resident_bytes(int fd)
{
	return page_cache_resident_bytes(fd, 0, UINT64_MAX);
}

/* The kernel may drop a page at any moment, so try a few times. */
static void read_until_resident(int fd, char *buffer)
{
	for (int i = 0; i < 5 && resident_bytes(fd) != SIZE; i++)
		g_assert_cmpint(pread(fd, buffer, SIZE, 0), ==, (ssize_t)SIZE);
}

static void read_and_drop(void *data)
{
	Scratch *scratch = data;
	g_auto(Fd) fd = create_clean_file(scratch);
	g_autofree char *buffer = g_malloc(SIZE);

	page_cache_drop(fd, 0, UINT64_MAX);
	g_assert_cmpuint(resident_bytes(fd), ==, 0);

	read_until_resident(fd, buffer);
	g_assert_cmpuint(resident_bytes(fd), ==, SIZE);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 100, 5000), ==, 5000);
	g_assert_cmpuint(page_cache_resident_bytes(fd, SIZE - 10, 5000), ==, 10);

	page_cache_drop(fd, 0, UINT64_MAX);
	g_assert_cmpuint(resident_bytes(fd), ==, 0);
}

static void test_what_was_read_is_resident_until_it_is_dropped(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	if (can_drop(scratch))
		read_and_drop(scratch);
}

static void read_and_drop_without_cachestat(void *data)
{
	scratch_refuse_system_call(SYS_CACHESTAT, ENOSYS);
	read_and_drop(data);
}

static void test_older_kernels_say_the_same_by_mincore(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	if (can_drop(scratch))
		scratch_run_in_child(read_and_drop_without_cachestat, scratch);
}

static void ask_as_nobody_without_cachestat(void *data)
{
	int fd = *(int *)data;

	scratch_refuse_system_call(SYS_CACHESTAT, ENOSYS);
	scratch_become_nobody();
	g_assert_cmpuint(resident_bytes(fd), ==, geteuid() == 0 ? SIZE : 0);
}

static void test_mincore_is_not_believed_about_files_of_others(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = create_clean_file(scratch);

	if (geteuid() == 0)
		scratch_run_in_child(ask_as_nobody_without_cachestat, &fd);
	else
		g_test_skip("needs root, to become another user");
}

static void test_fetching_makes_a_range_resident_without_waiting(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = create_clean_file(scratch);
	int64_t deadline = g_get_monotonic_time() + 5 * G_USEC_PER_SEC;

	if (!can_drop(scratch))
		return;

	page_cache_drop(fd, 0, UINT64_MAX);
	page_cache_fetch(fd, 2 * MIB, 4 * MIB);
	while (page_cache_resident_bytes(fd, 2 * MIB, 4 * MIB) < 4 * MIB &&
	       g_get_monotonic_time() < deadline)
		g_usleep(1000);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 2 * MIB, 4 * MIB), ==, 4 * MIB);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, MIB), ==, 0);
}

static void test_nothing_is_resident_behind_the_end_of_a_file(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = create_clean_file(scratch);

	g_assert_cmpuint(page_cache_resident_bytes(fd, SIZE, 4096), ==, 0);
	g_assert_cmpuint(page_cache_resident_bytes(fd, UINT64_MAX, UINT64_MAX), ==, 0);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, 0), ==, 0);
	g_assert_cmpuint(page_cache_resident_bytes(-1, 0, 4096), ==, 0);
	page_cache_fetch(fd, UINT64_MAX, UINT64_MAX);
	page_cache_drop(fd, UINT64_MAX, UINT64_MAX);
}

static void test_dropping_nothing_drops_nothing(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = create_clean_file(scratch);

	page_cache_drop(fd, 0, 0);
	g_assert_cmpuint(resident_bytes(fd), ==, SIZE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/page-cache/what-was-read-is-resident-until-it-is-dropped",
			test_what_was_read_is_resident_until_it_is_dropped);
	g_test_add_func("/page-cache/older-kernels-say-the-same-by-mincore",
			test_older_kernels_say_the_same_by_mincore);
	g_test_add_func("/page-cache/mincore-is-not-believed-about-files-of-others",
			test_mincore_is_not_believed_about_files_of_others);
	g_test_add_func("/page-cache/fetching-makes-a-range-resident-without-waiting",
			test_fetching_makes_a_range_resident_without_waiting);
	g_test_add_func("/page-cache/nothing-is-resident-behind-the-end-of-a-file",
			test_nothing_is_resident_behind_the_end_of_a_file);
	g_test_add_func("/page-cache/dropping-nothing-drops-nothing",
			test_dropping_nothing_drops_nothing);

	return g_test_run();
}
