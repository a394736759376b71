/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/xfs/xfs-geometry.h"

#include "tests/unit/fake-xfs.h"

#include <errno.h>

static void test_what_an_xfs_can_do_is_read_from_its_flags(void)
{
	XfsGeometry geometry;

	*fake_xfs() = (FakeXfs){
		.geometry = { .block_bytes = 4096,
			      .n_groups = 4,
			      .group_blocks = 1000,
			      .flags = XFS_ABI_GEOMETRY_REFLINK | XFS_ABI_GEOMETRY_PARENT,
			      .uuid = { 1, 2, 3 } },
	};
	g_assert_true(xfs_geometry_read(FAKE_XFS_FD, &geometry, NULL));
	g_assert_cmpuint(geometry.block_bytes, ==, 4096);
	g_assert_cmpuint(geometry.n_groups, ==, 4);
	g_assert_cmpuint(geometry.group_blocks, ==, 1000);
	g_assert_cmpuint(geometry.uuid[2], ==, 3);
	g_assert_true(geometry.has_reflink);
	g_assert_true(geometry.has_parents);
	g_assert_false(geometry.has_rmapbt);
	g_assert_false(geometry.has_realtime);

	fake_xfs()->geometry.flags = XFS_ABI_GEOMETRY_RMAPBT;
	fake_xfs()->geometry.realtime_blocks = 1;
	g_assert_true(xfs_geometry_read(FAKE_XFS_FD, &geometry, NULL));
	g_assert_false(geometry.has_reflink);
	g_assert_false(geometry.has_parents);
	g_assert_true(geometry.has_rmapbt);
	g_assert_true(geometry.has_realtime);
}

static void test_a_geometry_that_cannot_be_read_is_an_error(void)
{
	g_autoptr(GError) error = NULL;
	XfsGeometry geometry;

	*fake_xfs() = (FakeXfs){ .error = ENOTTY };
	g_assert_false(xfs_geometry_read(FAKE_XFS_FD, &geometry, &error));
	g_assert_cmpstr(error->message, ==,
			"cannot read the geometry of the XFS: Inappropriate ioctl for device");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/xfs-geometry/what-an-xfs-can-do-is-read-from-its-flags",
			test_what_an_xfs_can_do_is_read_from_its_flags);
	g_test_add_func("/xfs-geometry/a-geometry-that-cannot-be-read-is-an-error",
			test_a_geometry_that_cannot_be_read_is_an_error);

	return g_test_run();
}
