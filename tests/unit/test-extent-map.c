/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/extent-map.h"

#include "tests/unit/scratch.h"

#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FILE_FD 1000

/*
 * A kernel that knows one file, as a list of extents.  It is the ioctl() of this program; each test sets it up
 * anew.
 */
typedef struct {
	const struct fiemap_extent *extents;
	unsigned n_extents;
	bool repeats_itself; /* answers with the first extents at each request */
	int error;

	unsigned n_calls;
	unsigned n_flushes;
} FakeKernel;

static FakeKernel kernel;

static int fake_fiemap(struct fiemap *request)
{
	uint64_t end = request->fm_start + request->fm_length;

	kernel.n_calls++;
	kernel.n_flushes += (request->fm_flags & FIEMAP_FLAG_SYNC) != 0;
	g_assert_cmpuint(request->fm_length, >, 0);
	g_assert_cmpuint(kernel.n_calls, <, 1000);

	for (unsigned i = 0; i < kernel.n_extents; i++) {
		const struct fiemap_extent *extent = &kernel.extents[i];

		if (request->fm_mapped_extents == request->fm_extent_count)
			break;
		if (!kernel.repeats_itself &&
		    (extent->fe_logical + extent->fe_length <= request->fm_start ||
		     extent->fe_logical >= end))
			continue;
		request->fm_extents[request->fm_mapped_extents++] = *extent;
	}

	errno = kernel.error;
	return kernel.error ? -1 : 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);

	g_assert_cmpint(fd, ==, FILE_FD);
	g_assert_cmpuint(request, ==, FS_IOC_FIEMAP);
	return fake_fiemap(argument);
}

static void kernel_set(const struct fiemap_extent *extents, unsigned n_extents)
{
	kernel = (FakeKernel){ .extents = extents, .n_extents = n_extents };
}

static const MappedExtent *next_extent(ExtentMap *map)
{
	g_autoptr(GError) error = NULL;
	const MappedExtent *extent;

	g_assert_true(extent_map_next(map, &extent, &error));
	g_assert_no_error(error);
	return extent;
}

static void assert_next(ExtentMap *map, uint64_t logical, uint64_t physical, uint64_t length)
{
	const MappedExtent *extent = next_extent(map);

	g_assert_nonnull(extent);
	g_assert_cmpuint(extent->logical, ==, logical);
	g_assert_cmpuint(extent->physical, ==, physical);
	g_assert_cmpuint(extent->length, ==, length);
}

static void test_extents_are_clipped_to_the_range(void)
{
	const struct fiemap_extent extents[] = {
		{ .fe_logical = 0, .fe_physical = 100000, .fe_length = 8192 },
		{ .fe_logical = 16384, .fe_physical = 500000, .fe_length = 8192 },
	};
	g_autoptr(ExtentMap) map = extent_map_new();

	kernel_set(extents, G_N_ELEMENTS(extents));
	extent_map_start(map, FILE_FD, 4096, 16384, false);
	assert_next(map, 4096, 104096, 4096);
	assert_next(map, 16384, 500000, 4096);
	g_assert_null(next_extent(map));
	g_assert_null(next_extent(map));
}

static void test_a_map_begins_anew_in_the_midst_of_a_file(void)
{
	const struct fiemap_extent extents[] = {
		{ .fe_logical = 0, .fe_physical = 100000, .fe_length = 4096 },
		{ .fe_logical = 8192, .fe_physical = 500000, .fe_length = 4096 },
		{ .fe_logical = 16384, .fe_physical = 900000, .fe_length = 4096 },
	};
	g_autoptr(ExtentMap) map = extent_map_new();

	kernel_set(extents, G_N_ELEMENTS(extents));
	extent_map_start(map, FILE_FD, 0, 1 << 20, false);
	assert_next(map, 0, 100000, 4096);

	/* The other file has other extents. */
	kernel_set(&extents[2], 1);
	extent_map_start(map, FILE_FD, 0, 1 << 20, false);
	assert_next(map, 16384, 900000, 4096);
	g_assert_null(next_extent(map));
	extent_map_start(map, FILE_FD, 0, 0, false);
	g_assert_null(next_extent(map));
}

static void test_the_address_of_an_encoded_extent_does_not_move(void)
{
	const struct fiemap_extent extent = {
		.fe_physical = 100000,
		.fe_length = 131072,
		.fe_flags = FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_LAST,
	};
	g_autoptr(ExtentMap) map = extent_map_new();

	kernel_set(&extent, 1);
	extent_map_start(map, FILE_FD, 4096, UINT64_MAX, false);
	assert_next(map, 4096, 100000, 126976);
}

static void test_what_has_no_address_has_none(void)
{
	const uint32_t flags[] = { FIEMAP_EXTENT_DATA_INLINE, FIEMAP_EXTENT_DELALLOC,
				   FIEMAP_EXTENT_UNKNOWN };

	for (size_t i = 0; i < G_N_ELEMENTS(flags); i++) {
		const struct fiemap_extent extent = {
			.fe_physical = 100000,
			.fe_length = 8192,
			.fe_flags = flags[i] | FIEMAP_EXTENT_LAST,
		};
		g_autoptr(ExtentMap) map = extent_map_new();

		kernel_set(&extent, 1);
		extent_map_start(map, FILE_FD, 4096, UINT64_MAX, false);
		assert_next(map, 4096, 0, 4096);
	}
}

/* Make 600 extents of one block with a hole after each. */
static struct fiemap_extent *make_many(unsigned n_extents)
{
	struct fiemap_extent *extents = g_new0(struct fiemap_extent, n_extents);

	for (unsigned i = 0; i < n_extents; i++) {
		extents[i].fe_logical = i * UINT64_C(8192);
		extents[i].fe_physical = (n_extents - i) * UINT64_C(65536);
		extents[i].fe_length = 4096;
	}
	return extents;
}

static void test_batches_follow_one_another_and_only_the_first_flushes(void)
{
	g_autofree struct fiemap_extent *extents = make_many(600);
	g_autoptr(ExtentMap) map = extent_map_new();

	kernel_set(extents, 600);
	extents[599].fe_flags = FIEMAP_EXTENT_LAST;
	extent_map_start(map, FILE_FD, 0, UINT64_MAX, true);
	for (unsigned i = 0; i < 600; i++)
		assert_next(map, i * UINT64_C(8192), (600 - i) * UINT64_C(65536), 4096);
	g_assert_null(next_extent(map));
	g_assert_cmpuint(kernel.n_calls, ==, 3);
	g_assert_cmpuint(kernel.n_flushes, ==, 1);
}

static void test_a_range_that_ends_in_a_full_batch_ends(void)
{
	g_autofree struct fiemap_extent *extents = make_many(256);
	g_autoptr(ExtentMap) map = extent_map_new();

	kernel_set(extents, 256);
	extent_map_start(map, FILE_FD, 0, 256 * 8192, false);
	for (unsigned i = 0; i < 256; i++)
		g_assert_nonnull(next_extent(map));
	g_assert_null(next_extent(map));
}

static void test_an_extent_that_grew_between_batches_comes_in_parts(void)
{
	g_autofree struct fiemap_extent *extents = make_many(300);
	g_autoptr(ExtentMap) map = extent_map_new();

	kernel_set(extents, 300);
	extent_map_start(map, FILE_FD, 0, UINT64_MAX, false);
	for (unsigned i = 0; i < 256; i++)
		g_assert_nonnull(next_extent(map));
	extents[255].fe_length = 8192;
	assert_next(map, 255 * 8192 + 4096, 45 * 65536 + 4096, 4096);
	assert_next(map, 256 * 8192, 44 * 65536, 4096);
}

static void test_a_kernel_that_repeats_itself_is_an_error(void)
{
	g_autofree struct fiemap_extent *extents = make_many(256);
	g_autoptr(ExtentMap) map = extent_map_new();
	g_autoptr(GError) error = NULL;
	const MappedExtent *extent;

	kernel_set(extents, 256);
	kernel.repeats_itself = true;
	extent_map_start(map, FILE_FD, 0, UINT64_MAX, false);
	for (unsigned i = 0; i < 256; i++)
		g_assert_nonnull(next_extent(map));
	g_assert_false(extent_map_next(map, &extent, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_IO);
	g_assert_null(extent);
}

static void test_a_map_can_be_started_again(void)
{
	g_autofree struct fiemap_extent *extents = make_many(600);
	g_autoptr(ExtentMap) map = extent_map_new();

	g_assert_null(next_extent(map));
	kernel_set(extents, 600);
	extent_map_start(map, FILE_FD, 0, UINT64_MAX, false);
	g_assert_nonnull(next_extent(map));
	extent_map_start(map, FILE_FD, 8192, 4096, false);
	assert_next(map, 8192, 599 * 65536, 4096);
	g_assert_null(next_extent(map));
	extent_map_start(map, FILE_FD, 8192, 0, false);
	g_assert_null(next_extent(map));
}

static void test_a_call_that_fails_says_what_it_tried(void)
{
	g_autoptr(ExtentMap) map = extent_map_new();
	g_autoptr(GError) error = NULL;
	const MappedExtent *extent;

	kernel_set(NULL, 0);
	kernel.error = EIO;
	extent_map_start(map, FILE_FD, 0, UINT64_MAX, false);
	g_assert_false(extent_map_next(map, &extent, &error));
	g_assert_cmpstr(error->message, ==,
			"cannot map the extents of the file: Input/output error");
}

static void test_only_data_with_an_address_of_its_own_is_addressed(void)
{
	static const struct {
		unsigned flags;
		bool is_addressed;
	} cases[] = {
		{ 0, true },
		{ EXTENT_SHARED, true },
		{ EXTENT_INLINE, false },
		{ EXTENT_UNWRITTEN, false },
		{ EXTENT_ENCODED | EXTENT_SHARED, false },
		{ EXTENT_DELALLOC | EXTENT_UNKNOWN, false },
		{ EXTENT_UNKNOWN, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		MappedExtent extent = { .length = 4096, .flags = cases[i].flags };

		g_assert_cmpint(mapped_extent_is_addressed(&extent), ==, cases[i].is_addressed);
	}
}

static void test_a_hole_is_skipped_to_the_next_data(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	const uint64_t mib = UINT64_C(1) << 20;
	int fd = scratch_create(scratch, "sparse", 0, 1);

	scratch_fill(fd, 2 * mib, mib, 1);
	g_assert_cmpint(ftruncate(fd, 8 * mib), ==, 0);
	g_assert_cmpuint(extent_map_skip_hole(fd, 0), ==, 2 * mib);
	g_assert_cmpuint(extent_map_skip_hole(fd, 2 * mib + 7), ==, 2 * mib + 7);
	g_assert_cmpuint(extent_map_skip_hole(fd, 3 * mib), ==, UINT64_MAX);
	g_assert_cmpuint(extent_map_skip_hole(-1, 5), ==, 5);
	close(fd);
}

static void test_data_is_skipped_to_the_next_hole(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	const uint64_t mib = UINT64_C(1) << 20;
	int fd = scratch_create(scratch, "sparse", 0, 1);

	scratch_fill(fd, 2 * mib, mib, 1);
	g_assert_cmpint(ftruncate(fd, 8 * mib), ==, 0);
	g_assert_cmpuint(extent_map_skip_data(fd, 0), ==, 0);
	g_assert_cmpuint(extent_map_skip_data(fd, 7), ==, 7);
	g_assert_cmpuint(extent_map_skip_data(fd, 2 * mib + 7), ==, 3 * mib);
	g_assert_cmpuint(extent_map_skip_data(fd, 8 * mib), ==, 8 * mib);
	g_assert_cmpuint(extent_map_skip_data(-1, 5), ==, UINT64_MAX);
	close(fd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/extent-map/begins-anew-in-the-midst-of-a-file",
			test_a_map_begins_anew_in_the_midst_of_a_file);
	g_test_add_func("/extent-map/extents-are-clipped-to-the-range",
			test_extents_are_clipped_to_the_range);
	g_test_add_func("/extent-map/the-address-of-an-encoded-extent-does-not-move",
			test_the_address_of_an_encoded_extent_does_not_move);
	g_test_add_func("/extent-map/what-has-no-address-has-none",
			test_what_has_no_address_has_none);
	g_test_add_func("/extent-map/batches-follow-one-another-and-only-the-first-flushes",
			test_batches_follow_one_another_and_only_the_first_flushes);
	g_test_add_func("/extent-map/a-range-that-ends-in-a-full-batch-ends",
			test_a_range_that_ends_in_a_full_batch_ends);
	g_test_add_func("/extent-map/an-extent-that-grew-between-batches-comes-in-parts",
			test_an_extent_that_grew_between_batches_comes_in_parts);
	g_test_add_func("/extent-map/a-kernel-that-repeats-itself-is-an-error",
			test_a_kernel_that_repeats_itself_is_an_error);
	g_test_add_func("/extent-map/a-map-can-be-started-again", test_a_map_can_be_started_again);
	g_test_add_func("/extent-map/a-call-that-fails-says-what-it-tried",
			test_a_call_that_fails_says_what_it_tried);
	g_test_add_func("/extent-map/only-data-with-an-address-of-its-own-is-addressed",
			test_only_data_with_an_address_of_its_own_is_addressed);
	g_test_add_func("/extent-map/data-is-skipped-to-the-next-hole",
			test_data_is_skipped_to_the_next_hole);
	g_test_add_func("/extent-map/a-hole-is-skipped-to-the-next-data",
			test_a_hole_is_skipped_to_the_next_data);

	return g_test_run();
}
