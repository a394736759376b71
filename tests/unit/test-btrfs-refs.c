/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-refs.h"

#include "tests/unit/fake-btrfs.h"

#include <errno.h>

#define BYTENR    UINT64_C(13631488)
#define MANY_REFS ((size_t)1 << 20)

static BtrfsRef *make_refs(size_t n)
{
	BtrfsRef *refs = g_new(BtrfsRef, n);

	for (size_t i = 0; i < n; i++)
		refs[i] = (BtrfsRef){ .inode = 257 + i, .offset = i << 12, .root = 5 + i % 7 };
	return refs;
}

static void kernel_set(const BtrfsRef *refs, size_t n_refs)
{
	*fake_btrfs() = (FakeBtrfs){ .refs = refs, .n_refs = n_refs };
}

static BtrfsRefsOutcome read_refs(BtrfsRefs *refs)
{
	g_autoptr(GError) error = NULL;
	BtrfsRefsOutcome outcome = (BtrfsRefsOutcome)99;

	g_assert_true(btrfs_refs_read(refs, FAKE_BTRFS_FD, BYTENR, &outcome, &error));
	g_assert_no_error(error);
	return outcome;
}

static void assert_list(const BtrfsRefs *refs, const BtrfsRef *expected, size_t n_expected)
{
	size_t n;
	const BtrfsRef *list = btrfs_refs_list(refs, &n);

	g_assert_cmpmem(list, n * sizeof(*list), expected, n_expected * sizeof(*expected));
}

static void test_few_references_take_one_small_call(void)
{
	g_autofree BtrfsRef *expected = make_refs(4);
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();

	assert_list(refs, NULL, 0);
	kernel_set(expected, 4);
	g_assert_cmpint(read_refs(refs), ==, BTRFS_REFS_READ);
	assert_list(refs, expected, 4);
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 1);
	g_assert_cmpuint(fake_btrfs()->largest_buffer_bytes, <=, 65536);

	kernel_set(NULL, 0);
	g_assert_cmpint(read_refs(refs), ==, BTRFS_REFS_READ);
	assert_list(refs, NULL, 0);
}

static void test_the_buffer_grows_when_references_are_missing_and_shrinks_again(void)
{
	g_autofree BtrfsRef *expected = make_refs(30000);
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();

	kernel_set(expected, 30000);
	g_assert_cmpint(read_refs(refs), ==, BTRFS_REFS_READ);
	assert_list(refs, expected, 30000);
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 2);
	g_assert_cmpuint(fake_btrfs()->largest_buffer_bytes, <, 1 << 20);

	kernel_set(expected, 10);
	g_assert_cmpint(read_refs(refs), ==, BTRFS_REFS_READ);
	assert_list(refs, expected, 10);
	g_assert_cmpuint(fake_btrfs()->largest_buffer_bytes, <=, 65536);
}

static void test_more_references_than_the_kernel_tells_are_too_many(void)
{
	g_autofree BtrfsRef *expected = make_refs(MANY_REFS);
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();

	kernel_set(expected, MANY_REFS);
	g_assert_cmpint(read_refs(refs), ==, BTRFS_REFS_TOO_MANY);
	assert_list(refs, expected, BTRFS_REFS_MAX);

	kernel_set(expected, BTRFS_REFS_MAX);
	g_assert_cmpint(read_refs(refs), ==, BTRFS_REFS_READ);
	assert_list(refs, expected, BTRFS_REFS_MAX);
}

static void test_an_extent_that_has_gone_is_an_outcome(void)
{
	g_autofree BtrfsRef *some = make_refs(4);
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();

	kernel_set(some, 4);
	read_refs(refs);
	fake_btrfs()->error = ENOENT;
	g_assert_cmpint(read_refs(refs), ==, BTRFS_REFS_GONE);
	assert_list(refs, NULL, 0);
}

static void test_a_call_that_fails_says_what_it_tried(void)
{
	g_autofree BtrfsRef *some = make_refs(4);
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();
	g_autoptr(GError) error = NULL;
	BtrfsRefsOutcome outcome;

	kernel_set(some, 4);
	read_refs(refs);
	fake_btrfs()->error = EPERM;
	g_assert_false(btrfs_refs_read(refs, FAKE_BTRFS_FD, BYTENR, &outcome, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM);
	g_assert_cmpstr(error->message, ==,
			"cannot find the files that refer to the extent 13631488 of the btrfs: "
			"Operation not permitted");
	assert_list(refs, NULL, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/btrfs-refs/few-references-take-one-small-call",
			test_few_references_take_one_small_call);
	g_test_add_func(
		"/btrfs-refs/the-buffer-grows-when-references-are-missing-and-shrinks-again",
		test_the_buffer_grows_when_references_are_missing_and_shrinks_again);
	g_test_add_func("/btrfs-refs/more-references-than-the-kernel-tells-are-too-many",
			test_more_references_than_the_kernel_tells_are_too_many);
	g_test_add_func("/btrfs-refs/an-extent-that-has-gone-is-an-outcome",
			test_an_extent_that_has_gone_is_an_outcome);
	g_test_add_func("/btrfs-refs/a-call-that-fails-says-what-it-tried",
			test_a_call_that_fails_says_what_it_tried);

	return g_test_run();
}
