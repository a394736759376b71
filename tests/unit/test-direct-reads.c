/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/page-cache.h"
#include "tests/unit/reader-fixture.h"

#include <string.h>
#include <unistd.h>

static bool memory_is_free;

static bool is_free(uint64_t kept_bytes)
{
	return memory_is_free;
}

/* A reader that prefers direct reads, of a file without cached pages. */
static FileReader *open_direct_reader(Fixture *fixture, uint64_t size)
{
	FileReader *reader = open_reader(fixture, size);

	file_reader_prefer_direct(reader);
	file_reader_hold(reader, 0, size);
	return reader;
}

static uint8_t *direct_buffer(size_t size)
{
	/* It must be in memory: see file_reader_read_directly(). */
	return g_aligned_alloc0(1, size + FILE_READER_ALIGNMENT, FILE_READER_ALIGNMENT);
}

static void test_what_is_read_directly_is_what_is_there_and_leaves_no_pages(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	uint64_t size = 2 * MIB + 1000;
	g_auto(Fd) fd = create_cold(fixture, size);
	g_autoptr(FileReader) reader = open_direct_reader(fixture, size);
	g_autofree uint8_t *content = g_malloc(size);
	uint8_t *buffer = direct_buffer(size);

	for (uint64_t at = 0; can_drop(fixture) && at < size; at += MIB) {
		uint64_t length = MIN(MIB, size - at);

		g_assert_true(file_reader_choose_direct(reader, at, length, true));
		g_assert_cmpint(file_reader_read_directly(reader, at, length, buffer + at), ==,
				READ_DONE);
	}
	if (can_drop(fixture)) {
		g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 0);
		g_assert_cmpint(pread(fd, content, size, 0), ==, (ssize_t)size);
		g_assert_cmpmem(buffer, size, content, size);
	}
	g_aligned_free(buffer);
}

static void test_what_others_have_cached_is_not_read_directly(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_auto(Fd) fd = create_cold_hole(fixture, 4 * MIB);
	g_autofree char *buffer = g_malloc(MIB);
	g_autoptr(FileReader) reader = NULL;

	if (!can_drop(fixture))
		return;
	g_assert_cmpint(pread(fd, buffer, MIB, MIB), ==, (ssize_t)MIB);
	reader = open_direct_reader(fixture, 4 * MIB);
	g_assert_true(file_reader_choose_direct(reader, 0, MIB, true));
	g_assert_false(file_reader_choose_direct(reader, MIB, MIB, true));
	g_assert_false(file_reader_choose_direct(reader, 2 * MIB - 4096, 8192, true));
	g_assert_true(file_reader_choose_direct(reader, 2 * MIB, 2 * MIB, true));
}

static void test_what_may_be_kept_is_not_read_directly_until_memory_is_short(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_autoptr(PageCacheBudget) kept = page_cache_budget_new(is_free);
	g_auto(Fd) fd G_GNUC_UNUSED = create_cold_hole(fixture, 12 * WINDOW);
	g_autoptr(FileReader) reader = open_reader(fixture, 12 * WINDOW);

	memory_is_free = true;
	file_reader_prefer_direct(reader);
	file_reader_keep(reader, kept, 1);
	file_reader_hold(reader, 0, WINDOW);
	g_assert_false(file_reader_choose_direct(reader, 0, MIB, true));
	memory_is_free = false;
	file_reader_hold(reader, WINDOW, 9 * WINDOW);
	g_assert_true(file_reader_choose_direct(reader, 9 * WINDOW, MIB, true));

	/* Changing back would have the kernel's readahead begin anew. */
	memory_is_free = true;
	file_reader_hold(reader, 10 * WINDOW, 2 * WINDOW);
	g_assert_true(file_reader_choose_direct(reader, 11 * WINDOW, MIB, true));
}

static void test_small_files_and_compressed_data_are_not_read_directly(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_auto(Fd) fd = create_cold(fixture, MIB);
	FileReader *reader = open_direct_reader(fixture, MIB / 4 - 1);

	g_assert_false(file_reader_choose_direct(reader, 0, 4096, true));
	file_reader_free(reader);
	reader = open_direct_reader(fixture, MIB);
	g_assert_false(file_reader_choose_direct(reader, 0, MIB, false));
	read_well(reader, 0, MIB);
	file_reader_free(reader);
	if (can_drop(fixture))
		g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 0);
}

static void test_what_is_read_directly_is_charged(void)
{
	g_autoptr(Fixture) fixture = fixture_new(MIB);
	g_auto(Fd) fd G_GNUC_UNUSED = create_cold(fixture, 2 * MIB);
	g_autoptr(FileReader) reader = open_direct_reader(fixture, 2 * MIB);
	uint8_t *buffer = direct_buffer(MIB);

	if (can_drop(fixture) && file_reader_choose_direct(reader, 0, MIB, true)) {
		g_assert_cmpint(file_reader_read_directly(reader, 0, MIB, buffer), ==, READ_DONE);
		assert_charged(fixture, MIB);
		atomic_store(&fixture->stop, true);
		g_assert_cmpint(file_reader_read_directly(reader, 0, MIB, buffer), ==,
				READ_STOPPED);
	}
	g_aligned_free(buffer);
}

static void test_a_file_that_shrank_is_short_to_direct_reads(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_auto(Fd) fd = create_cold(fixture, MIB);
	g_autoptr(FileReader) reader = open_direct_reader(fixture, MIB);
	uint8_t *buffer = direct_buffer(MIB);

	g_assert_cmpint(ftruncate(fd, 5000), ==, 0);
	if (can_drop(fixture) && file_reader_choose_direct(reader, 0, MIB, true))
		g_assert_cmpint(file_reader_read_directly(reader, 0, MIB, buffer), ==, READ_SHORT);
	g_aligned_free(buffer);
}

static void test_a_direct_read_that_is_refused_goes_through_the_page_cache(void)
{
	g_autoptr(Fixture) fixture = fixture_new(0);
	g_auto(Fd) fd = create_cold(fixture, MIB);
	g_autoptr(FileReader) reader = open_direct_reader(fixture, MIB);
	g_autofree uint8_t *content = g_malloc(MIB);
	uint8_t *buffer = direct_buffer(MIB);

	if (can_drop(fixture) && file_reader_choose_direct(reader, 0, MIB, true)) {
		/* No device reads into odd addresses. */
		g_assert_cmpint(file_reader_read_directly(reader, 0, MIB, buffer + 1), ==,
				READ_DONE);
		g_assert_cmpuint(page_cache_resident_bytes(fd, 0, UINT64_MAX), ==, 0);
		g_assert_cmpint(pread(fd, content, MIB, 0), ==, (ssize_t)MIB);
		g_assert_cmpmem(buffer + 1, MIB, content, MIB);
	}
	g_aligned_free(buffer);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/direct-reads/what-is-read-directly-is-what-is-there-and-leaves-no-pages",
			test_what_is_read_directly_is_what_is_there_and_leaves_no_pages);
	g_test_add_func("/direct-reads/what-others-have-cached-is-not-read-directly",
			test_what_others_have_cached_is_not_read_directly);
	g_test_add_func("/direct-reads/what-may-be-kept-is-not-read-directly-until-memory-is-short",
			test_what_may_be_kept_is_not_read_directly_until_memory_is_short);
	g_test_add_func("/direct-reads/small-files-and-compressed-data-are-not-read-directly",
			test_small_files_and_compressed_data_are_not_read_directly);
	g_test_add_func("/direct-reads/what-is-read-directly-is-charged",
			test_what_is_read_directly_is_charged);
	g_test_add_func("/direct-reads/a-file-that-shrank-is-short-to-direct-reads",
			test_a_file_that_shrank_is_short_to_direct_reads);
	g_test_add_func("/direct-reads/a-direct-read-that-is-refused-goes-through-the-page-cache",
			test_a_direct_read_that_is_refused_goes_through_the_page_cache);

	return g_test_run();
}
