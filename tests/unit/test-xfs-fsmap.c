/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/xfs/xfs-fsmap.h"

#include "tests/unit/fake-xfs.h"

#include <errno.h>

#define DATA 1
#define KIB  UINT64_C(1024)

/* The data of two files, with one shared block, among other records. */
static const struct fsmap extents[] = {
	{ .fmr_device = DATA,
	  .fmr_physical = 0,
	  .fmr_length = KIB,
	  .fmr_flags = FMR_OF_SPECIAL_OWNER,
	  .fmr_owner = 1 },
	{ .fmr_device = DATA, .fmr_physical = 4 * KIB, .fmr_length = 4 * KIB, .fmr_owner = 131 },
	{ .fmr_device = DATA,
	  .fmr_physical = 8 * KIB,
	  .fmr_length = 4 * KIB,
	  .fmr_owner = 131,
	  .fmr_flags = FMR_OF_ATTR_FORK },
	{ .fmr_device = DATA,
	  .fmr_physical = 12 * KIB,
	  .fmr_length = 4 * KIB,
	  .fmr_owner = 131,
	  .fmr_flags = FMR_OF_EXTENT_MAP },
	{ .fmr_device = DATA,
	  .fmr_physical = 16 * KIB,
	  .fmr_length = 4 * KIB,
	  .fmr_owner = 131,
	  .fmr_offset = 4 * KIB,
	  .fmr_flags = FMR_OF_SHARED },
	{ .fmr_device = DATA,
	  .fmr_physical = 16 * KIB,
	  .fmr_length = 4 * KIB,
	  .fmr_owner = 140,
	  .fmr_offset = 64 * KIB,
	  .fmr_flags = FMR_OF_SHARED },
	{ .fmr_device = DATA,
	  .fmr_physical = 20 * KIB,
	  .fmr_length = 8 * KIB,
	  .fmr_owner = 140,
	  .fmr_flags = FMR_OF_PREALLOC },
	{ .fmr_device = DATA + 2, .fmr_physical = 0, .fmr_length = 8 * KIB, .fmr_owner = 141 },
};

static const XfsOwnedExtent expected[] = {
	{ 4 * KIB, 4 * KIB, 131, 0, false },
	{ 16 * KIB, 4 * KIB, 131, 4 * KIB, false },
	{ 16 * KIB, 4 * KIB, 140, 64 * KIB, false },
	{ 20 * KIB, 8 * KIB, 140, 0, true },
};

static void kernel_set(uint32_t n_most)
{
	*fake_xfs() = (FakeXfs){
		.extents = extents,
		.n_extents = G_N_ELEMENTS(extents),
		.n_most = n_most,
	};
}

static void assert_all_come(void)
{
	g_autoptr(XfsFsmap) fsmap = xfs_fsmap_new(FAKE_XFS_FD);
	const XfsOwnedExtent *extent;

	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_assert_true(xfs_fsmap_next(fsmap, &extent, NULL));
		g_assert_nonnull(extent);
		g_assert_cmpuint(extent->physical, ==, expected[i].physical);
		g_assert_cmpuint(extent->length, ==, expected[i].length);
		g_assert_cmpuint(extent->inode, ==, expected[i].inode);
		g_assert_cmpuint(extent->offset, ==, expected[i].offset);
		g_assert_cmpint(extent->is_unwritten, ==, expected[i].is_unwritten);
	}
	for (unsigned again = 0; again < 2; again++) {
		g_assert_true(xfs_fsmap_next(fsmap, &extent, NULL));
		g_assert_null(extent);
	}
}

static void test_data_of_files_alone_comes(void)
{
	kernel_set(0);
	assert_all_come();
	g_assert_cmpuint(fake_xfs()->n_calls, ==, 1);
}

static void test_nothing_is_lost_between_two_calls(void)
{
	for (uint32_t n_most = 1; n_most <= G_N_ELEMENTS(extents); n_most++) {
		kernel_set(n_most);
		assert_all_come();
	}
}

static void test_the_end_is_seen_where_it_is_not_marked(void)
{
	kernel_set(2);
	fake_xfs()->marks_no_end = true;
	assert_all_come();
}

static void test_an_empty_map_has_no_extents(void)
{
	g_autoptr(XfsFsmap) fsmap = xfs_fsmap_new(FAKE_XFS_FD);
	const XfsOwnedExtent *extent;

	*fake_xfs() = (FakeXfs){ 0 };
	g_assert_true(xfs_fsmap_next(fsmap, &extent, NULL));
	g_assert_null(extent);
}

static void assert_fails(const char *message)
{
	g_autoptr(XfsFsmap) fsmap = xfs_fsmap_new(FAKE_XFS_FD);
	g_autoptr(GError) error = NULL;
	const XfsOwnedExtent *extent;

	g_assert_false(xfs_fsmap_next(fsmap, &extent, &error));
	g_assert_cmpstr(error->message, ==, message);
}

static void test_a_map_that_cannot_be_read_is_an_error(void)
{
	*fake_xfs() = (FakeXfs){ .error = EOPNOTSUPP };
	assert_fails("cannot read where the data of the XFS lies: Operation not supported");
	kernel_set(0);
	fake_xfs()->gives_too_many = true;
	assert_fails("cannot read where the data of the XFS lies: Structure needs cleaning");
}

static void test_extents_out_of_order_are_an_error(void)
{
	static const struct fsmap back[] = {
		{ .fmr_device = 1, .fmr_physical = 8192, .fmr_owner = 5, .fmr_length = 4096 },
		{ .fmr_device = 1, .fmr_physical = 4096, .fmr_owner = 5, .fmr_length = 4096 },
	};
	static const struct fsmap endless = { .fmr_device = 1,
					      .fmr_physical = 8192,
					      .fmr_owner = 5,
					      .fmr_length = UINT64_MAX - 4096 };
	g_autoptr(XfsFsmap) fsmap = xfs_fsmap_new(FAKE_XFS_FD);
	const XfsOwnedExtent *extent;

	*fake_xfs() = (FakeXfs){ .extents = back, .n_extents = G_N_ELEMENTS(back) };
	g_assert_true(xfs_fsmap_next(fsmap, &extent, NULL));
	g_assert_nonnull(extent);
	g_assert_false(xfs_fsmap_next(fsmap, &extent, NULL));

	*fake_xfs() = (FakeXfs){ .extents = &endless, .n_extents = 1 };
	assert_fails("cannot read where the data of the XFS lies: Structure needs cleaning");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/xfs-fsmap/data-of-files-alone-comes", test_data_of_files_alone_comes);
	g_test_add_func("/xfs-fsmap/nothing-is-lost-between-two-calls",
			test_nothing_is_lost_between_two_calls);
	g_test_add_func("/xfs-fsmap/the-end-is-seen-where-it-is-not-marked",
			test_the_end_is_seen_where_it_is_not_marked);
	g_test_add_func("/xfs-fsmap/an-empty-map-has-no-extents", test_an_empty_map_has_no_extents);
	g_test_add_func("/xfs-fsmap/a-map-that-cannot-be-read-is-an-error",
			test_a_map_that_cannot_be_read_is_an_error);
	g_test_add_func("/xfs-fsmap/extents-out-of-order-are-an-error",
			test_extents_out_of_order_are_an_error);

	return g_test_run();
}
