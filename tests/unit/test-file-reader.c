/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/file-reader.h"

#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/page-cache.h"
#include "tests/unit/reader-fixture.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void test_what_is_read_is_what_is_there(void)
{
	static const struct {
		uint64_t offset;
		uint64_t length;
	} ranges[] = { { 0, 1 }, { 0, MIB }, { 4095, 2 }, { MIB - 1, 300 }, { 2 * MIB, 1000 } };
	g_autoptr(Fixture) fixture = fixture_new(0);
	uint64_t size = 2 * MIB + 1000;
	g_auto(Fd) fd = create_cold(fixture, size);
	g_autoptr(FileReader) reader = open_reader(fixture, size);
	g_autofree char *content = g_malloc(size);
	g_autofree char *buffer = g_malloc(size);

	g_assert_cmpint(pread(fd, content, size, 0), ==, (ssize_t)size);
	for (size_t i = 0; i < G_N_ELEMENTS(ranges); i++) {
		uint64_t length = ranges[i].length;

		g_assert_cmpint(file_reader_read(reader, ranges[i].offset, length, buffer), ==,
				READ_DONE);
		g_assert_cmpmem(buffer, length, content + ranges[i].offset, length);
	}
}

static void test_a_file_that_shrank_is_short(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_auto(Fd) fd = create_cold(fixture, 10000);
	g_autoptr(FileReader) reader = open_reader(fixture, 10000);
	char buffer[10001];

	g_assert_cmpint(file_reader_read(reader, 0, 10001, buffer), ==, READ_SHORT);
	g_assert_cmpint(file_reader_read(reader, 10000, 1, buffer), ==, READ_SHORT);
	g_assert_cmpint(file_reader_read(reader, UINT64_C(1) << 40, 1, buffer), ==, READ_SHORT);

	g_assert_cmpint(ftruncate(fd, 5000), ==, 0);
	g_assert_cmpint(file_reader_read(reader, 0, 10000, buffer), ==, READ_SHORT);
	g_assert_cmpint(file_reader_read(reader, 0, 5000, buffer), ==, READ_DONE);
}

static void test_what_cannot_be_read_says_so(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	int fd = openat(fixture->scratch->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_autoptr(FileReader) reader =
		file_reader_new_take(fd, 4096, fixture->throttle, &fixture->stop);
	char buffer[4096];

	g_assert_cmpint(file_reader_read(reader, 0, 4096, buffer), ==, READ_UNREADABLE);
}

static void test_a_raised_stop_reads_nothing(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_autoptr(FileReader) reader = NULL;
	char buffer[100] = { 0 };

	make_cold(fixture, 10000);
	reader = open_reader(fixture, 10000);
	atomic_store(&fixture->stop, true);
	g_assert_cmpint(file_reader_fetch(reader, 0, 100), ==, READ_STOPPED);
	g_assert_cmpint(file_reader_read(reader, 0, 100, buffer), ==, READ_STOPPED);
	g_assert_cmpint(buffer[0], ==, 0);
}

static void test_the_descriptor_is_closed_with_the_reader(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	FileReader *reader;
	int taken;

	make_cold(fixture, 10000);
	reader = open_reader(fixture, 10000);
	taken = file_reader_fd(reader);
	g_assert_cmpint(fcntl(taken, F_GETFD), >=, 0);
	file_reader_free(reader);
	g_assert_cmpint(fcntl(taken, F_GETFD), ==, -1);
	file_reader_free(NULL);
}

static void test_what_was_not_cached_is_dropped(void)
{
	static const size_t sizes[] = { 1, 2, 4095, 4096, 100000, 3 * MIB };

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(Fixture) fixture = fixture_new(0);
		g_auto(Fd) fd = create_cold(fixture, sizes[i]);
		FileReader *reader;

		if (!can_drop(fixture))
			return;
		g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 0);
		reader = open_reader(fixture, sizes[i]);
		for (uint64_t at = 0; at < sizes[i]; at += MIB)
			read_well(reader, at, MIN(sizes[i] - at, MIB));
		g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, sizes[i]);
		file_reader_free(reader);
		g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 0);
	}
}

/* Read a window with @cached bytes in the cache.  Returns how much of it stays there. */
static uint64_t stays_of_window(uint64_t cached)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_auto(Fd) fd = create_cold_hole(fixture, WINDOW);
	g_autofree char *buffer = g_malloc(WINDOW);
	FileReader *reader;

	if (!can_drop(fixture))
		return cached;
	g_assert_cmpint(pread(fd, buffer, cached, 0), ==, (ssize_t)cached);
	reader = open_reader(fixture, WINDOW);
	for (uint64_t at = 0; at < WINDOW; at += MIB)
		read_well(reader, at, MIB);
	/* Otherwise the kernel dropped pages before the look. */
	if (file_reader_hot_bytes(reader) == cached)
		g_assert_true(file_reader_was_cached(reader, 0, WINDOW) == (cached == WINDOW));
	file_reader_free(reader);
	return page_cache_resident_bytes(fd, 0, UINT64_MAX);
}

static void test_what_was_cached_of_a_window_stays_mib_by_mib(void)
{
	static const uint64_t cached_mib[] = { 0, 1, 7, 8, 15, 16 };

	for (size_t i = 0; i < G_N_ELEMENTS(cached_mib); i++) {
		uint64_t cached = cached_mib[i] * MIB;
		uint64_t stays = stays_of_window(cached);

		/* With limited memory the kernel may drop pages at any time.  A mistake shows each time. */
		for (int again = 0; again < 4 && stays < cached; again++)
			stays = stays_of_window(cached);
		g_assert_cmpuint(stays, ==, cached);
	}
}

static void test_of_a_piece_that_is_half_cached_all_stays(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_auto(Fd) fd = create_cold_hole(fixture, 4 * MIB);
	g_autofree char *buffer = g_malloc(MIB);
	FileReader *reader;

	if (!can_drop(fixture))
		return;
	g_assert_cmpint(pread(fd, buffer, MIB / 2 - 4096, MIB), ==, (ssize_t)(MIB / 2 - 4096));
	g_assert_cmpint(pread(fd, buffer, MIB / 2, 3 * MIB), ==, (ssize_t)(MIB / 2));
	reader = open_reader(fixture, 4 * MIB);
	read_well(reader, 0, 4 * MIB);
	file_reader_free(reader);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, 3 * MIB), ==, 0);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 3 * MIB, MIB), ==, MIB);
}

static void test_what_is_dropped_early_leaves_what_others_had_cached(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_auto(Fd) fd = create_cold(fixture, 4 * MIB);
	g_autoptr(FileReader) reader = open_reader(fixture, 4 * MIB);
	g_autofree char *buffer = g_malloc(MIB);

	if (!can_drop(fixture))
		return;
	g_assert_cmpint(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), ==, 0);
	g_assert_cmpint(pread(fd, buffer, MIB, MIB), ==, (ssize_t)MIB);
	read_well(reader, 0, 4 * MIB);
	file_reader_drop(reader, 0, 3 * MIB);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, 3 * MIB), ==, MIB);
	g_assert_cmpuint(page_cache_resident_bytes(fd, MIB, MIB), ==, MIB);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 3 * MIB, MIB), ==, MIB);
}

static void test_a_window_is_dropped_when_four_more_were_read(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_auto(Fd) fd = create_cold_hole(fixture, 6 * WINDOW);
	g_autoptr(FileReader) reader = open_reader(fixture, 6 * WINDOW);

	if (!can_drop(fixture))
		return;
	for (uint64_t window = 0; window < 4; window++)
		read_well(reader, window * WINDOW, MIB);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 4 * MIB);
	read_well(reader, 4 * WINDOW, MIB);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, WINDOW), ==, 0);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 4 * MIB);
}

static void test_what_is_held_stays_until_it_is_released_as_often(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_auto(Fd) fd = create_cold_hole(fixture, 16 * WINDOW);
	g_autoptr(FileReader) reader = open_reader(fixture, 16 * WINDOW);
	uint64_t window = 2;

	if (!can_drop(fixture))
		return;
	for (unsigned i = 0; i < 2; i++)
		file_reader_hold(reader, WINDOW - MIB, 2 * MIB);
	read_well(reader, WINDOW - MIB, 2 * MIB);
	for (; window < 8; window++)
		read_well(reader, window * WINDOW, MIB);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, 2 * WINDOW), ==, 2 * MIB);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 4 * MIB);

	file_reader_release(reader, WINDOW - MIB, 2 * MIB);
	read_well(reader, window++ * WINDOW, MIB);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, 2 * WINDOW), ==, 2 * MIB);
	file_reader_release(reader, WINDOW - MIB, 2 * MIB);
	for (; window < 12; window++)
		read_well(reader, window * WINDOW, MIB);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, 2 * WINDOW), ==, 0);
}

static bool always(uint64_t kept_bytes)
{
	return true;
}

static bool memory_is_free;

static bool while_memory_is_free(uint64_t kept_bytes)
{
	return memory_is_free;
}

static void test_a_wide_reader_drops_nothing_while_memory_is_free(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_autoptr(PageCacheBudget) kept = page_cache_budget_new(while_memory_is_free);
	g_auto(Fd) fd = create_cold_hole(fixture, 80 * WINDOW);
	g_autoptr(FileReader) reader = open_reader(fixture, 80 * WINDOW);
	uint64_t window = 0;

	if (!can_drop(fixture))
		return;
	memory_is_free = true;
	file_reader_widen(reader, kept);
	for (; window < 70; window++)
		read_well(reader, window * WINDOW, 4096);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, UINT64_C(64) * 4096);

	/* It looks at the memory now and then. */
	memory_is_free = false;
	for (; window < 74; window++)
		read_well(reader, window * WINDOW, 4096);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, UINT64_C(4) * 4096);
}

static void test_what_is_kept_is_dropped_by_the_next_reader(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_autoptr(PageCacheBudget) kept = page_cache_budget_new(always);
	g_auto(Fd) fd = create_cold(fixture, 3 * MIB);
	FileReader *reader = open_reader(fixture, 3 * MIB);

	if (!can_drop(fixture)) {
		file_reader_free(reader);
		return;
	}
	file_reader_keep(reader, kept, 5);
	read_well(reader, 0, 3 * MIB);
	file_reader_free(reader);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 3 * MIB);

	reader = open_reader(fixture, 3 * MIB);
	file_reader_keep(reader, kept, 5);
	read_well(reader, 0, MIB);
	file_reader_keep_nothing(reader);
	file_reader_free(reader);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 0);
}

static void test_who_keeps_nothing_drops_what_was_kept(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_autoptr(PageCacheBudget) kept = page_cache_budget_new(always);
	g_auto(Fd) fd = create_cold_hole(fixture, 6 * WINDOW);
	FileReader *reader = open_reader(fixture, 6 * WINDOW);

	if (!can_drop(fixture)) {
		file_reader_free(reader);
		return;
	}
	file_reader_keep(reader, kept, 5);
	for (uint64_t window = 0; window < 6; window++)
		read_well(reader, window * WINDOW, MIB);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 6 * MIB);
	file_reader_keep_nothing(reader);
	file_reader_free(reader);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 0);
}

static void test_no_more_than_was_asked_for_is_read(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_auto(Fd) fd = create_cold(fixture, 8 * MIB);
	g_autoptr(FileReader) reader = open_reader(fixture, 8 * MIB);

	if (!can_drop(fixture))
		return;
	read_well(reader, 2 * MIB, MIB);
	read_well(reader, 3 * MIB, MIB);
	read_well(reader, 6 * MIB, 4096);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 2 * MIB + 4096);
}

static void test_the_budget_is_charged_for_what_is_not_cached(void)
{
	g_autoptr(Fixture) fixture = fixture_new(MIB);
	g_autoptr(FileReader) reader = NULL;

	make_cold(fixture, 4 * MIB);
	reader = open_reader(fixture, 4 * MIB);
	if (!can_drop(fixture))
		return;
	read_well(reader, 0, 2 * MIB);
	assert_charged(fixture, 2 * MIB);
	read_well(reader, 0, 2 * MIB);
	assert_charged(fixture, 0);
	read_well(reader, MIB, 3 * MIB);
	assert_charged(fixture, 2 * MIB);
}

static void test_what_was_fetched_is_charged_once(void)
{
	g_autoptr(Fixture) fixture = fixture_new(MIB);
	g_auto(Fd) fd = create_cold(fixture, 4 * MIB);
	g_autoptr(FileReader) reader = open_reader(fixture, 4 * MIB);
	g_autofree char *buffer = g_malloc(4 * MIB);

	if (!can_drop(fixture))
		return;
	g_assert_cmpint(file_reader_fetch(reader, MIB, MIB), ==, READ_DONE);
	assert_charged(fixture, MIB);
	/* Even if the kernel dropped it after it arrived. */
	g_assert_cmpint(pread(fd, buffer, 4 * MIB, 0), ==, (ssize_t)(4 * MIB));
	page_cache_drop(fd, 0, UINT64_MAX);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 0);
	read_well(reader, MIB, MIB);
	assert_charged(fixture, 0);
	/* To the end of the file, and no farther. */
	g_assert_cmpint(file_reader_fetch(reader, 3 * MIB, 64 * MIB), ==, READ_DONE);
	assert_charged(fixture, MIB);
	read_well(reader, 3 * MIB, MIB);
	assert_charged(fixture, 0);
}

/* Fetched data comes when the disk has read it. */
static void assert_becomes_resident(int fd, uint64_t offset, uint64_t bytes)
{
	for (unsigned i = 0; i < 500; i++) {
		if (page_cache_resident_bytes(fd, offset, bytes) == bytes)
			return;
		g_usleep(10000);
	}

	g_assert_not_reached();
}

static void test_the_piece_before_stays_charged_when_the_next_one_is_fetched(void)
{
	g_autoptr(Fixture) fixture = fixture_new(MIB);
	g_auto(Fd) fd = create_cold(fixture, 8 * MIB);
	g_autoptr(FileReader) reader = open_reader(fixture, 8 * MIB);
	g_autofree char *buffer = g_malloc(8 * MIB);

	if (!can_drop(fixture))
		return;
	for (uint64_t i = 1; i <= 4; i++) {
		g_assert_cmpint(file_reader_fetch(reader, i * MIB, MIB), ==, READ_DONE);
		assert_charged(fixture, MIB);
	}
	g_assert_cmpint(pread(fd, buffer, 8 * MIB, 0), ==, (ssize_t)(8 * MIB));
	page_cache_drop(fd, 0, UINT64_MAX);
	read_well(reader, 3 * MIB, 2 * MIB);
	assert_charged(fixture, 0);
	/* The pieces before it may be gone. */
	read_well(reader, 2 * MIB, MIB);
	assert_charged(fixture, MIB);

	/* What is fetched again is charged again. */
	page_cache_drop(fd, 0, UINT64_MAX);
	g_assert_cmpint(file_reader_fetch(reader, 4 * MIB, MIB), ==, READ_DONE);
	assert_charged(fixture, MIB);
	page_cache_drop(fd, 0, UINT64_MAX);
	read_well(reader, 3 * MIB, MIB);
	assert_charged(fixture, MIB);
}

static void test_what_was_kept_and_is_gone_is_fetched_for_what_is_charged(void)
{
	g_autoptr(Fixture) fixture = fixture_new(MIB);
	g_autoptr(PageCacheBudget) kept = page_cache_budget_new(always);
	g_auto(Fd) fd = create_cold(fixture, MIB);
	g_autoptr(FileReader) reader = open_reader(fixture, MIB);

	if (!can_drop(fixture))
		return;
	g_assert_true(page_cache_budget_add(kept, 5, 0, WINDOW));
	file_reader_keep(reader, kept, 5);
	g_assert_cmpint(file_reader_fetch(reader, 0, MIB), ==, READ_DONE);
	assert_becomes_resident(fd, 0, MIB);
	assert_charged(fixture, MIB);
	g_assert_cmpint(file_reader_fetch(reader, 0, MIB), ==, READ_DONE);
	assert_charged(fixture, 0);
}

static void test_what_others_had_cached_is_read_back_and_charged(void)
{
	g_autoptr(Fixture) fixture = fixture_new(MIB);
	g_auto(Fd) fd = create_cold(fixture, 6 * MIB);
	g_autofree char *buffer = g_malloc(6 * MIB);
	g_autoptr(FileReader) reader = NULL;

	if (!can_drop(fixture))
		return;
	g_assert_cmpint(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), ==, 0);
	g_assert_cmpint(pread(fd, buffer, 4 * MIB, 0), ==, (ssize_t)(4 * MIB));
	reader = open_reader(fixture, 6 * MIB);
	read_well(reader, 0, 6 * MIB);
	assert_charged(fixture, 2 * MIB);
	g_assert_cmpuint(file_reader_restore(reader, 0, 6 * MIB), ==, 0);

	page_cache_drop(fd, MIB, 5 * MIB);
	g_assert_cmpuint(file_reader_restore(reader, 0, MIB), ==, 0);
	g_assert_cmpuint(file_reader_restore(reader, 2 * MIB, 4 * MIB), ==, 2 * MIB);
	assert_charged(fixture, 2 * MIB);
	assert_becomes_resident(fd, 2 * MIB, 2 * MIB);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, 6 * MIB), ==, 3 * MIB);
}

static void test_readahead_of_what_is_expected_is_dropped(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	uint64_t size = WINDOW + 64 * 1024;
	g_auto(Fd) fd = create_cold(fixture, size);
	FileReader *reader = open_reader(fixture, size);
	g_autofree char *buffer = g_malloc(MIB);

	if (!can_drop(fixture)) {
		file_reader_free(reader);
		return;
	}
	/* The kernel may read the end of the file ahead. */
	file_reader_expect_all(reader, true);
	file_reader_hold(reader, WINDOW - MIB, MIB);
	g_assert_cmpint(pread(fd, buffer, 64 * 1024, (off_t)WINDOW), ==, 64 * 1024);
	file_reader_hold(reader, WINDOW, 64 * 1024);
	file_reader_free(reader);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 0);
}

static void test_what_is_held_is_charged_when_it_is_read(void)
{
	g_autoptr(Fixture) fixture = fixture_new(MIB);
	g_autoptr(FileReader) reader = NULL;
	g_autofree char *buffer = g_malloc(2 * MIB);

	make_cold(fixture, 4 * MIB);
	reader = open_reader(fixture, 4 * MIB);
	if (!can_drop(fixture))
		return;
	file_reader_hold(reader, 0, 2 * MIB);
	file_reader_fetch_held(reader, 0, 2 * MIB);
	assert_charged(fixture, 0);
	g_assert_cmpint(file_reader_read_held(reader, 0, 2 * MIB, buffer), ==, READ_DONE);
	assert_charged(fixture, 2 * MIB);
	atomic_store(&fixture->stop, true);
	g_assert_cmpint(file_reader_read_held(reader, 0, 2 * MIB, buffer), ==, READ_STOPPED);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/file-reader/what-is-read-is-what-is-there",
			test_what_is_read_is_what_is_there);
	g_test_add_func("/file-reader/a-file-that-shrank-is-short",
			test_a_file_that_shrank_is_short);
	g_test_add_func("/file-reader/what-cannot-be-read-says-so",
			test_what_cannot_be_read_says_so);
	g_test_add_func("/file-reader/a-raised-stop-reads-nothing",
			test_a_raised_stop_reads_nothing);
	g_test_add_func("/file-reader/the-descriptor-is-closed-with-the-reader",
			test_the_descriptor_is_closed_with_the_reader);
	g_test_add_func("/file-reader/what-was-not-cached-is-dropped",
			test_what_was_not_cached_is_dropped);
	g_test_add_func("/file-reader/what-was-cached-of-a-window-stays-mib-by-mib",
			test_what_was_cached_of_a_window_stays_mib_by_mib);
	g_test_add_func("/file-reader/of-a-piece-that-is-half-cached-all-stays",
			test_of_a_piece_that_is_half_cached_all_stays);
	g_test_add_func("/file-reader/what-is-dropped-early-leaves-what-others-had-cached",
			test_what_is_dropped_early_leaves_what_others_had_cached);
	g_test_add_func("/file-reader/a-window-is-dropped-when-four-more-were-read",
			test_a_window_is_dropped_when_four_more_were_read);
	g_test_add_func("/file-reader/what-is-held-stays-until-it-is-released-as-often",
			test_what_is_held_stays_until_it_is_released_as_often);
	g_test_add_func("/file-reader/a-wide-reader-drops-nothing-while-memory-is-free",
			test_a_wide_reader_drops_nothing_while_memory_is_free);
	g_test_add_func("/file-reader/what-is-kept-is-dropped-by-the-next-reader",
			test_what_is_kept_is_dropped_by_the_next_reader);
	g_test_add_func("/file-reader/who-keeps-nothing-drops-what-was-kept",
			test_who_keeps_nothing_drops_what_was_kept);
	g_test_add_func("/file-reader/no-more-than-was-asked-for-is-read",
			test_no_more_than_was_asked_for_is_read);
	g_test_add_func("/file-reader/the-budget-is-charged-for-what-is-not-cached",
			test_the_budget_is_charged_for_what_is_not_cached);
	g_test_add_func("/file-reader/what-was-fetched-is-charged-once",
			test_what_was_fetched_is_charged_once);
	g_test_add_func("/file-reader/the-piece-before-stays-charged",
			test_the_piece_before_stays_charged_when_the_next_one_is_fetched);
	g_test_add_func("/file-reader/what-was-kept-and-is-gone-is-fetched-for-what-is-charged",
			test_what_was_kept_and_is_gone_is_fetched_for_what_is_charged);
	g_test_add_func("/file-reader/what-others-had-cached-is-read-back-and-charged",
			test_what_others_had_cached_is_read_back_and_charged);
	g_test_add_func("/file-reader/readahead-of-what-is-expected-is-dropped",
			test_readahead_of_what_is_expected_is_dropped);
	g_test_add_func("/file-reader/what-is-held-is-charged-when-it-is-read",
			test_what_is_held_is_charged_when_it_is_read);

	return g_test_run();
}
