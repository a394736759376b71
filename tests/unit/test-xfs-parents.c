/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/xfs/xfs-parents.h"

#include "tests/unit/fake-xfs.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define TOP 128

static const FakeXfsName few[] = {
	{ 131, 128, "a" },
	{ 132, 128, "b" },
	{ 131, 130, "c" },
	{ 133, 130, "d" },
};

static void kernel_set(const FakeXfsName *names, size_t n_names)
{
	*fake_xfs() = (FakeXfs){ .names = names, .n_names = n_names, .top = TOP };
}

/* "parent/name " for each name of the inode, and the outcome at the end. */
static char *names_of(uint64_t inode, XfsParentsOutcome *ret_end)
{
	g_autoptr(XfsParents) parents = xfs_parents_new(FAKE_XFS_FD);
	GString *text = g_string_new(NULL);
	XfsParent parent;

	xfs_parents_begin(parents, inode, 1);
	while ((*ret_end = xfs_parents_next(parents, &parent)) == XFS_PARENTS_NEXT)
		g_string_append_printf(text, "%ju/%s ", (uintmax_t)parent.parent, parent.name);

	/* The end stays the end. */
	g_assert_cmpint(xfs_parents_next(parents, &parent), ==, XFS_PARENTS_END);
	return g_string_free(text, false);
}

static void assert_names(uint64_t inode, const char *expected, XfsParentsOutcome expected_end)
{
	XfsParentsOutcome end;
	g_autofree char *names = names_of(inode, &end);

	g_assert_cmpstr(names, ==, expected);
	g_assert_cmpint(end, ==, expected_end);
}

static void test_every_name_of_an_inode_comes(void)
{
	kernel_set(few, G_N_ELEMENTS(few));
	assert_names(131, "128/a 130/c ", XFS_PARENTS_END);
	assert_names(132, "128/b ", XFS_PARENTS_END);
	assert_names(133, "130/d ", XFS_PARENTS_END);
}

static void test_what_has_no_name_ends_at_once(void)
{
	kernel_set(few, G_N_ELEMENTS(few));
	assert_names(TOP, "", XFS_PARENTS_END);
	assert_names(999, "", XFS_PARENTS_END);
}

static void test_one_object_serves_inode_after_inode(void)
{
	g_autoptr(XfsParents) parents = xfs_parents_new(FAKE_XFS_FD);
	XfsParent parent;

	kernel_set(few, G_N_ELEMENTS(few));
	g_assert_cmpint(xfs_parents_next(parents, &parent), ==, XFS_PARENTS_END);
	xfs_parents_begin(parents, 131, 1);
	g_assert_cmpint(xfs_parents_next(parents, &parent), ==, XFS_PARENTS_NEXT);
	/* In the middle of its names. */
	xfs_parents_begin(parents, 133, 1);
	g_assert_cmpint(xfs_parents_next(parents, &parent), ==, XFS_PARENTS_NEXT);
	g_assert_cmpstr(parent.name, ==, "d");
	g_assert_cmpint(xfs_parents_next(parents, &parent), ==, XFS_PARENTS_END);
}

static void test_more_names_than_fit_one_call_all_come(void)
{
	g_autofree FakeXfsName *names = g_new0(FakeXfsName, 300);
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GString) expected = g_string_new(NULL);

	for (unsigned i = 0; i < 300; i++) {
		char *name = g_strnfill(1 + i % 255, (char)('a' + i % 26));

		g_ptr_array_add(texts, name);
		names[i] = (FakeXfsName){ 131, 200 + i, name };
		g_string_append_printf(expected, "%u/%s ", 200 + i, name);
	}
	kernel_set(names, 300);
	assert_names(131, expected->str, XFS_PARENTS_END);
	g_assert_cmpuint(fake_xfs()->n_calls, >, 10);

	/* As many as fit. */
	kernel_set(names, 300);
	fake_xfs()->n_most = 288;
	assert_names(131, expected->str, XFS_PARENTS_END);
}

static void test_an_inode_that_cannot_be_asked_is_gone(void)
{
	static const int errors[] = { ESTALE, ENOENT, EIO, EUCLEAN, ENOTTY };

	for (size_t i = 0; i < G_N_ELEMENTS(errors); i++) {
		kernel_set(few, G_N_ELEMENTS(few));
		fake_xfs()->error = errors[i];
		assert_names(131, "", XFS_PARENTS_GONE);
		g_assert_cmpint(xfs_parents_try(FAKE_XFS_FD, TOP, 1), ==, errors[i]);
	}

	kernel_set(few, G_N_ELEMENTS(few));
	g_assert_cmpint(xfs_parents_try(FAKE_XFS_FD, TOP, 1), ==, 0);
}

static void test_records_that_are_none_are_not_believed(void)
{
	static const int more[] = { -39, -8, 1, 4, 4096, 1 << 30 };

	for (size_t i = 0; i < G_N_ELEMENTS(more); i++) {
		XfsParentsOutcome end;
		g_autofree char *names = NULL;

		kernel_set(few, G_N_ELEMENTS(few));
		fake_xfs()->record_bytes_more = more[i];
		names = names_of(131, &end);
		g_assert_cmpint(end, ==, XFS_PARENTS_GONE);
		g_assert_cmpstr(names, ==, "");
	}
}

static void test_a_kernel_that_never_ends_is_not_asked_forever(void)
{
	kernel_set(few, G_N_ELEMENTS(few));
	fake_xfs()->marks_no_end = true;
	assert_names(131, "128/a 130/c ", XFS_PARENTS_GONE);
	g_assert_cmpuint(fake_xfs()->n_calls, ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/xfs-parents/every-name-of-an-inode-comes",
			test_every_name_of_an_inode_comes);
	g_test_add_func("/xfs-parents/what-has-no-name-ends-at-once",
			test_what_has_no_name_ends_at_once);
	g_test_add_func("/xfs-parents/one-object-serves-inode-after-inode",
			test_one_object_serves_inode_after_inode);
	g_test_add_func("/xfs-parents/more-names-than-fit-one-call-all-come",
			test_more_names_than_fit_one_call_all_come);
	g_test_add_func("/xfs-parents/an-inode-that-cannot-be-asked-is-gone",
			test_an_inode_that_cannot_be_asked_is_gone);
	g_test_add_func("/xfs-parents/records-that-are-none-are-not-believed",
			test_records_that_are_none_are_not_believed);
	g_test_add_func("/xfs-parents/a-kernel-that-never-ends-is-not-asked-forever",
			test_a_kernel_that_never_ends_is_not_asked_forever);
	return g_test_run();
}
