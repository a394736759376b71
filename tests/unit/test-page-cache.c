/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/page-cache.h"

#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MIB  (UINT64_C(1) << 20)
#define SIZE (8 * MIB + 1000)

#define SYS_CACHESTAT 451
#define NOBODY        65534

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

/* Whether exactly the bytes from @first to @end are resident, as far as ranges tell that begin and end around them. */
static bool is_resident_between(int fd, uint64_t first, uint64_t end)
{
	for (uint64_t offset = 0; offset < SIZE; offset += MIB / 2) {
		for (uint64_t length = MIB / 2; length <= SIZE; length *= 2) {
			uint64_t resident_end = MIN(offset + length, end);
			uint64_t resident_first = MAX(offset, first);
			uint64_t expected =
				resident_first < resident_end ? resident_end - resident_first : 0;

			if (page_cache_resident_bytes(fd, offset, length) != expected)
				return false;
		}
	}
	return true;
}

static void read_the_middle(void *data)
{
	Scratch *scratch = data;
	g_auto(Fd) fd = create_clean_file(scratch);
	g_autofree char *buffer = g_malloc(SIZE);
	bool is_resident = false;

	g_assert_cmpint(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), ==, 0);
	for (int i = 0; i < 5 && !is_resident; i++) {
		page_cache_drop(fd, 0, UINT64_MAX);
		g_assert_cmpint(pread(fd, buffer, 2 * MIB, 3 * MIB), ==, (ssize_t)(2 * MIB));
		is_resident = is_resident_between(fd, 3 * MIB, 5 * MIB);
	}
	g_assert_true(is_resident);
}

/* A file that is larger than what mincore looks at in one call, with pages on both sides of each limit. */
static void read_pages_of_a_large_file(void *data)
{
	Scratch *scratch = data;
	g_auto(Fd) fd = scratch_create(scratch, "large", 0, 1);
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t pages[] = { 0, 64 * MIB - page_bytes, 64 * MIB, 128 * MIB, 129 * MIB };
	uint64_t resident = 0, part = 0;
	char byte;

	g_assert_cmpint(ftruncate(fd, 130 * MIB), ==, 0);
	g_assert_cmpint(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), ==, 0);
	for (int i = 0;
	     i < 5 && (resident != G_N_ELEMENTS(pages) * page_bytes || part != 2 * page_bytes);
	     i++) {
		page_cache_drop(fd, 0, UINT64_MAX);
		for (size_t j = 0; j < G_N_ELEMENTS(pages); j++)
			g_assert_cmpint(pread(fd, &byte, 1, (off_t)pages[j]), ==, 1);
		resident = resident_bytes(fd);
		part = page_cache_resident_bytes(fd, 64 * MIB, 65 * MIB);
	}
	g_assert_cmpuint(resident, ==, G_N_ELEMENTS(pages) * page_bytes);
	g_assert_cmpuint(part, ==, 2 * page_bytes);
}

static void read_parts(void *data)
{
	read_the_middle(data);
	read_pages_of_a_large_file(data);
}

static void read_parts_without_cachestat(void *data)
{
	scratch_refuse_system_call(SYS_CACHESTAT, ENOSYS);
	read_parts(data);
}

static void test_only_the_pages_of_a_range_count(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	if (!can_drop(scratch))
		return;

	read_parts(scratch);
	scratch_run_in_child(read_parts_without_cachestat, scratch);
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

static void ask_as_nobody(void *data)
{
	int fd = *(int *)data;

	scratch_become_nobody();
	g_assert_cmpuint(resident_bytes(fd), ==, page_cache_try_cachestat(fd) == 0 ? SIZE : 0);
}

static void test_cachestat_is_believed_about_files_that_may_be_written(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = create_clean_file(scratch);

	if (geteuid() == 0)
		scratch_run_in_child(ask_as_nobody, &fd);
	else
		g_test_skip("needs root, to become another user");
}

static void ask_without_cachestat(void *data)
{
	int fd = *(int *)data;

	scratch_refuse_system_call(SYS_CACHESTAT, ENOSYS);
	g_assert_cmpuint(resident_bytes(fd), ==, SIZE);
	scratch_become_nobody();
	g_assert_cmpuint(resident_bytes(fd), ==, SIZE);
}

static void test_mincore_is_believed_by_root_and_about_own_files(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = create_clean_file(scratch);

	if (geteuid() == 0) {
		g_assert_cmpint(fchown(fd, NOBODY, NOBODY), ==, 0);
		scratch_run_in_child(ask_without_cachestat, &fd);
	} else {
		g_test_skip("needs root, to become another user");
	}
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
	g_test_add_func("/page-cache/only-the-pages-of-a-range-count",
			test_only_the_pages_of_a_range_count);
	g_test_add_func("/page-cache/older-kernels-say-the-same-by-mincore",
			test_older_kernels_say_the_same_by_mincore);
	g_test_add_func("/page-cache/cachestat-is-believed-about-files-that-may-be-written",
			test_cachestat_is_believed_about_files_that_may_be_written);
	g_test_add_func("/page-cache/mincore-is-believed-by-root-and-about-own-files",
			test_mincore_is_believed_by_root_and_about_own_files);
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
