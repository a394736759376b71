/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/dedupe-probe.h"

#include "tests/unit/scratch.h"

#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <malloc.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_BYTES 65536

/* The first extent of one of the two files. */
typedef struct {
	uint64_t logical;
	uint64_t physical; /* 0: there is no extent */
	uint32_t flags;
	int error; /* of the request for it */
} FirstExtent;

/* A kernel that shares two files, and then says where they lie.  It is the ioctl() of this program. */
typedef struct {
	int call_errno;
	int32_t status; /* of the target */
	FirstExtent source, target;

	int source_fd, target_fd;
	unsigned n_dedupe_calls;
} FakeKernel;

static FakeKernel kernel;

static uint32_t *read_words(int fd)
{
	uint32_t *words = g_malloc(PROBE_BYTES);
	struct stat st;

	g_assert_cmpint(fstat(fd, &st), ==, 0);
	g_assert_cmpint(st.st_nlink, ==, 0);
	g_assert_cmpint(st.st_size, ==, PROBE_BYTES);
	g_assert_cmpint(pread(fd, words, PROBE_BYTES, 0), ==, PROBE_BYTES);
	return words;
}

/*
 * All files are equal, those of other probes too, and no compression makes them so small that btrfs would keep them in
 * its metadata.
 */
static void check_contents(int source_fd, int target_fd)
{
	g_autofree uint32_t *source = read_words(source_fd);
	g_autofree uint32_t *target = read_words(target_fd);
	g_autoptr(GHashTable) words = g_hash_table_new(NULL, NULL);
	static uint32_t first[PROBE_BYTES / sizeof(uint32_t)];

	if (!first[0])
		memcpy(first, source, PROBE_BYTES);
	g_assert_cmpmem(source, PROBE_BYTES, first, PROBE_BYTES);
	g_assert_cmpmem(target, PROBE_BYTES, first, PROBE_BYTES);
	for (size_t i = 0; i < PROBE_BYTES / sizeof(*source); i++)
		g_hash_table_add(words, GUINT_TO_POINTER(source[i]));
	g_assert_cmpuint(g_hash_table_size(words), ==, PROBE_BYTES / sizeof(*source));
}

static int fake_dedupe(int source_fd, struct file_dedupe_range *request)
{
	struct file_dedupe_range_info *target = &request->info[0];

	kernel.n_dedupe_calls++;
	kernel.source_fd = source_fd;
	kernel.target_fd = (int)target->dest_fd;
	g_assert_cmpuint(request->dest_count, ==, 1);
	g_assert_cmpuint(request->src_offset, ==, 0);
	g_assert_cmpuint(request->src_length, ==, PROBE_BYTES);
	g_assert_cmpuint(target->dest_offset, ==, 0);
	check_contents(kernel.source_fd, kernel.target_fd);

	target->status = kernel.status;
	target->bytes_deduped = kernel.status == FILE_DEDUPE_RANGE_SAME ? PROBE_BYTES : 0;
	errno = kernel.call_errno;
	return kernel.call_errno ? -1 : 0;
}

static int fake_fiemap(int fd, struct fiemap *request)
{
	const FirstExtent *extent = fd == kernel.source_fd ? &kernel.source : &kernel.target;

	g_assert_true(fd == kernel.source_fd || fd == kernel.target_fd);
	g_assert_true(request->fm_flags & FIEMAP_FLAG_SYNC);
	if (extent->physical) {
		request->fm_mapped_extents = 1;
		request->fm_extents[0] =
			(struct fiemap_extent){ .fe_logical = extent->logical,
						.fe_physical = extent->physical,
						.fe_length = PROBE_BYTES,
						.fe_flags = extent->flags | FIEMAP_EXTENT_LAST };
	}
	errno = extent->error;
	return extent->error ? -1 : 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);

	if (request == FIDEDUPERANGE)
		return fake_dedupe(fd, argument);
	if (request == FS_IOC_FIEMAP)
		return fake_fiemap(fd, argument);
	/* The filesystem has no flags to inherit. */
	errno = ENOTTY;
	return -1;
}

static DedupeProbe probe(int *ret_errno)
{
	g_autoptr(Scratch) scratch = scratch_new();

	return dedupe_probe(scratch->fd, ret_errno);
}

static void test_equal_addresses_show_that_files_were_shared(void)
{
	static const struct {
		FirstExtent source, target;
		DedupeProbe expected;
	} cases[] = {
		/* First byte in the file, address, flags, errno. */
		{ { 0, 8192, 0, 0 }, { 0, 8192, 0, 0 }, DEDUPE_PROBE_SHARED },
		{ { 0, 8192, FIEMAP_EXTENT_SHARED, 0 },
		  { 0, 8192, FIEMAP_EXTENT_SHARED, 0 },
		  DEDUPE_PROBE_SHARED },
		{ { 0, 8192, FIEMAP_EXTENT_ENCODED, 0 },
		  { 0, 8192, FIEMAP_EXTENT_ENCODED, 0 },
		  DEDUPE_PROBE_SHARED },
		{ { 0, 8192, 0, 0 }, { 0, 12288, 0, 0 }, DEDUPE_PROBE_NOT_SHARED },
		/* It is not known where both lie. */
		{ { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, DEDUPE_PROBE_NOT_SHARED },
		{ { 0, 8192, FIEMAP_EXTENT_DATA_INLINE, 0 },
		  { 0, 8192, FIEMAP_EXTENT_DATA_INLINE, 0 },
		  DEDUPE_PROBE_NOT_SHARED },
		{ { 0, 8192, FIEMAP_EXTENT_DELALLOC, 0 },
		  { 0, 8192, FIEMAP_EXTENT_DELALLOC, 0 },
		  DEDUPE_PROBE_NOT_SHARED },
		{ { 0, 8192, FIEMAP_EXTENT_UNKNOWN, 0 },
		  { 0, 8192, FIEMAP_EXTENT_UNKNOWN, 0 },
		  DEDUPE_PROBE_NOT_SHARED },
		{ { 4096, 8192, 0, 0 }, { 4096, 8192, 0, 0 }, DEDUPE_PROBE_NOT_SHARED },
		{ { 0, 8192, 0, EIO }, { 0, 8192, 0, EIO }, DEDUPE_PROBE_NOT_SHARED },
		{ { 0, 8192, 0, 0 }, { 0, 8192, 0, EIO }, DEDUPE_PROBE_NOT_SHARED },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		int error = -1;

		kernel = (FakeKernel){ .source = cases[i].source, .target = cases[i].target };
		/* Memory that was not written to is different each time. */
		mallopt(M_PERTURB, (int)i + 1);
		g_assert_cmpint(probe(&error), ==, cases[i].expected);
		g_assert_cmpint(error, ==, 0);
		g_assert_cmpuint(kernel.n_dedupe_calls, ==, 1);
	}
}

static void test_a_refusal_comes_with_its_cause(void)
{
	static const struct {
		int call_errno;
		int32_t status;
		int expected;
	} cases[] = {
		{ EOPNOTSUPP, 0, EOPNOTSUPP },
		{ ENOTTY, 0, ENOTTY },
		{ 0, -EINVAL, EINVAL },
		{ 0, -EPERM, EPERM },
		{ 0, FILE_DEDUPE_RANGE_DIFFERS, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const FirstExtent same = { .physical = 8192 };
		int error = -1;

		kernel = (FakeKernel){ .call_errno = cases[i].call_errno,
				       .status = cases[i].status,
				       .source = same,
				       .target = same };
		g_assert_cmpint(probe(&error), ==, DEDUPE_PROBE_REFUSED);
		g_assert_cmpint(error, ==, cases[i].expected);
	}
}

static void test_without_files_nothing_is_tried(void)
{
	int error = 0;

	kernel = (FakeKernel){ 0 };
	g_assert_cmpint(dedupe_probe(-1, &error), ==, DEDUPE_PROBE_NOT_TRIED);
	g_assert_cmpint(error, ==, EBADF);
	g_assert_cmpuint(kernel.n_dedupe_calls, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/dedupe-probe/equal-addresses-show-that-files-were-shared",
			test_equal_addresses_show_that_files_were_shared);
	g_test_add_func("/dedupe-probe/a-refusal-comes-with-its-cause",
			test_a_refusal_comes_with_its_cause);
	g_test_add_func("/dedupe-probe/without-files-nothing-is-tried",
			test_without_files_nothing_is_tried);

	return g_test_run();
}
