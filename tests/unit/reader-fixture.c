/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/reader-fixture.h"

#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/page-cache.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

static int64_t now_usec(void *data)
{
	return ((Fixture *)data)->now_usec;
}

static void sleep_usec(int64_t usec, void *data)
{
	((Fixture *)data)->now_usec += usec;
}

Fixture *fixture_new(uint64_t rate_bytes)
{
	Fixture *fixture = g_new0(Fixture, 1);
	ThrottleClock clock = { now_usec, sleep_usec, fixture };

	fixture->scratch = scratch_new();
	fixture->throttle = throttle_new(rate_bytes, &clock);
	return fixture;
}

void fixture_free(Fixture *fixture)
{
	throttle_free(fixture->throttle);
	scratch_free(fixture->scratch);
	g_free(fixture);
}

bool can_drop(const Fixture *fixture)
{
	struct statfs state;

	g_assert_cmpint(fstatfs(fixture->scratch->fd, &state), ==, 0);
	if (state.f_type != TMPFS_MAGIC)
		return true;
	g_test_skip("tmpfs is page cache, which cannot be dropped");
	return false;
}

/* Make a file without cached pages. */
int create_cold(Fixture *fixture, size_t size)
{
	int fd = scratch_create(fixture->scratch, "file", size, 1);

	g_assert_cmpint(fsync(fd), ==, 0);
	page_cache_drop(fd, 0, UINT64_MAX);
	return fd;
}

void make_cold(Fixture *fixture, size_t size)
{
	int fd = create_cold(fixture, size);

	fd_close(&fd);
}

/* The same, for a hole. */
int create_cold_hole(Fixture *fixture, uint64_t size)
{
	int fd = scratch_create(fixture->scratch, "file", 0, 1);

	g_assert_cmpint(ftruncate(fd, (off_t)size), ==, 0);
	g_assert_cmpint(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), ==, 0);
	return fd;
}

FileReader *open_reader(Fixture *fixture, uint64_t size)
{
	int fd = openat(fixture->scratch->fd, "file", O_RDONLY | O_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	return file_reader_new_take(fd, size, fixture->throttle, &fixture->stop);
}

void read_well(FileReader *reader, uint64_t offset, uint64_t length)
{
	g_autofree char *buffer = g_malloc(length);

	g_assert_cmpint(file_reader_read(reader, offset, length, buffer), ==, READ_DONE);
}

/* The bytes charged so far, measured by the wait of the next request. */
static uint64_t charged(Fixture *fixture, uint64_t rate_bytes)
{
	int64_t start_usec = fixture->now_usec;

	g_assert_true(throttle_take(fixture->throttle, 1, &fixture->stop));
	return (uint64_t)(fixture->now_usec - start_usec) * rate_bytes / G_USEC_PER_SEC;
}

void assert_charged(Fixture *fixture, uint64_t expected)
{
	uint64_t found = charged(fixture, MIB);

	g_assert_cmpuint(found, <=, expected + 100);
	g_assert_cmpuint(found + 100, >=, expected);
}
