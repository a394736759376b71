/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/xfs/xfs-bulkstat.h"

#include "tests/unit/fake-xfs.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>

#define N_INODES 3000

static XfsAbiInode inodes[N_INODES];

/* Inodes 128, 129, ... of which each tells its number in its size. */
static void kernel_set(void)
{
	for (size_t i = 0; i < N_INODES; i++)
		inodes[i] = (XfsAbiInode){
			.inode = 128 + i,
			.size_bytes = (128 + i) * 10,
			.nlink = 1,
			.mode = S_IFREG | 0644,
		};
	*fake_xfs() = (FakeXfs){ .inodes = inodes, .n_inodes = N_INODES };
}

/* Count consecutive inodes from @first on; each must be the expected one. */
static size_t count(uint32_t group, uint64_t first, uint64_t expected)
{
	g_autoptr(XfsBulkstat) bulkstat = xfs_bulkstat_new(FAKE_XFS_FD, group, first);
	g_autoptr(GError) error = NULL;
	const XfsInode *inode;
	size_t n = 0;

	for (;; n++) {
		g_assert_true(xfs_bulkstat_next(bulkstat, &inode, &error));
		g_assert_no_error(error);
		if (!inode)
			break;
		g_assert_cmpuint(inode->inode, ==, expected + n);
		g_assert_cmpuint(inode->size_bytes, ==, (expected + n) * 10);
	}

	/* The end stays the end. */
	g_assert_true(xfs_bulkstat_next(bulkstat, &inode, &error));
	g_assert_null(inode);
	return n;
}

static void test_every_inode_comes_once_in_order(void)
{
	kernel_set();
	g_assert_cmpuint(count(XFS_EVERY_GROUP, 0, 128), ==, N_INODES);
	fake_xfs()->n_most = 7;
	g_assert_cmpuint(count(XFS_EVERY_GROUP, 0, 128), ==, N_INODES);
}

static void test_it_goes_on_where_it_is_told(void)
{
	kernel_set();
	g_assert_cmpuint(count(XFS_EVERY_GROUP, 2000, 2000), ==, N_INODES - (2000 - 128));
	g_assert_cmpuint(count(XFS_EVERY_GROUP, 128 + N_INODES, 0), ==, 0);
}

static void test_a_group_is_all_that_comes_if_it_is_asked_for(void)
{
	kernel_set();
	fake_xfs()->n_most = 64;
	g_assert_cmpuint(count(0, 0, 128), ==, FAKE_XFS_GROUP_INODES - 128);
	g_assert_cmpuint(count(1, 0, 1000), ==, FAKE_XFS_GROUP_INODES);
	g_assert_cmpuint(count(9, 0, 0), ==, 0);
}

static void test_an_inode_is_what_the_kernel_says(void)
{
	const XfsAbiInode given = {
		.inode = 4711,
		.size_bytes = 10,
		.blocks = 3,
		.xflags = FS_XFLAG_IMMUTABLE | FS_XFLAG_REALTIME,
		.mtime = 5,
		.mtime_nsec = 6,
		.ctime = -1,
		.ctime_nsec = 7,
		.btime = INT64_MAX,
		.generation = 0xfedcba98,
		.uid = 8,
		.project = 9,
		.nlink = 2,
		.extents = 12,
		.extents64 = UINT64_C(1) << 33,
		.mode = S_IFDIR | 0700,
	};
	g_autoptr(XfsBulkstat) bulkstat = xfs_bulkstat_new(FAKE_XFS_FD, XFS_EVERY_GROUP, 0);
	const XfsInode *inode;

	*fake_xfs() = (FakeXfs){ .inodes = &given, .n_inodes = 1 };
	g_assert_true(xfs_bulkstat_next(bulkstat, &inode, NULL));
	g_assert_cmpuint(inode->inode, ==, 4711);
	g_assert_cmpuint(inode->blocks, ==, 3);
	g_assert_cmpuint(inode->extents, ==, UINT64_C(1) << 33);
	g_assert_cmpint(inode->mtime_nsec, ==, INT64_C(5000000006));
	g_assert_cmpint(inode->ctime_nsec, ==, -999999993);
	g_assert_cmpint(inode->btime_nsec, ==, INT64_MAX);
	g_assert_cmpuint(inode->generation, ==, 0xfedcba98);
	g_assert_cmpuint(inode->uid, ==, 8);
	g_assert_cmpuint(inode->project, ==, 9);
	g_assert_cmpuint(inode->nlink, ==, 2);
	g_assert_true(S_ISDIR(inode->mode));
	g_assert_true(inode->is_immutable);
	g_assert_true(inode->is_realtime);
	g_assert_false(inode->is_plain);
}

static void test_an_old_kernel_counts_extents_too(void)
{
	const XfsAbiInode given = { .inode = 128, .extents = 12 };
	g_autoptr(XfsBulkstat) bulkstat = xfs_bulkstat_new(FAKE_XFS_FD, XFS_EVERY_GROUP, 0);
	const XfsInode *inode;

	*fake_xfs() = (FakeXfs){ .inodes = &given, .n_inodes = 1, .is_old = true };
	g_assert_cmpint(xfs_bulkstat_try(FAKE_XFS_FD), ==, 0);
	g_assert_true(xfs_bulkstat_next(bulkstat, &inode, NULL));
	g_assert_cmpuint(inode->extents, ==, 12);
	g_assert_cmpuint(fake_xfs()->last_flags, ==, 0);
}

static void test_whether_it_works_is_told_with_the_cause(void)
{
	kernel_set();
	g_assert_cmpint(xfs_bulkstat_try(FAKE_XFS_FD), ==, 0);
	fake_xfs()->error = EPERM;
	g_assert_cmpint(xfs_bulkstat_try(FAKE_XFS_FD), ==, EPERM);
}

/* @n inodes come, then an error. */
static void assert_fails_after(size_t n, const char *message)
{
	g_autoptr(XfsBulkstat) bulkstat = xfs_bulkstat_new(FAKE_XFS_FD, XFS_EVERY_GROUP, 0);
	g_autoptr(GError) error = NULL;
	const XfsInode *inode;

	for (size_t i = 0; i < n; i++) {
		g_assert_true(xfs_bulkstat_next(bulkstat, &inode, &error));
		g_assert_nonnull(inode);
	}
	g_assert_false(xfs_bulkstat_next(bulkstat, &inode, &error));
	g_assert_cmpstr(error->message, ==, message);
}

static void test_what_cannot_be_listed_is_an_error(void)
{
	kernel_set();
	fake_xfs()->error = EIO;
	fake_xfs()->n_before_error = 1500;
	assert_fails_after(1500, "cannot list the inodes of the XFS: Input/output error");
}

static void test_a_kernel_that_makes_no_sense_is_not_followed(void)
{
	kernel_set();
	fake_xfs()->repeats_itself = true;
	assert_fails_after(0, "cannot list the inodes of the XFS: Structure needs cleaning");
	kernel_set();
	fake_xfs()->gives_too_many = true;
	assert_fails_after(0, "cannot list the inodes of the XFS: Structure needs cleaning");
}

static void test_an_inode_that_comes_twice_is_an_error(void)
{
	static const XfsAbiInode twice[] = { { .inode = 128 }, { .inode = 130 }, { .inode = 130 } };
	static const XfsAbiInode back[] = { { .inode = 128 }, { .inode = 130 }, { .inode = 129 } };

	*fake_xfs() = (FakeXfs){ .inodes = twice, .n_inodes = G_N_ELEMENTS(twice) };
	assert_fails_after(2, "cannot list the inodes of the XFS: Structure needs cleaning");
	*fake_xfs() = (FakeXfs){ .inodes = back, .n_inodes = G_N_ELEMENTS(back) };
	assert_fails_after(2, "cannot list the inodes of the XFS: Structure needs cleaning");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/xfs-bulkstat/every-inode-comes-once-in-order",
			test_every_inode_comes_once_in_order);
	g_test_add_func("/xfs-bulkstat/it-goes-on-where-it-is-told",
			test_it_goes_on_where_it_is_told);
	g_test_add_func("/xfs-bulkstat/a-group-is-all-that-comes-if-it-is-asked-for",
			test_a_group_is_all_that_comes_if_it_is_asked_for);
	g_test_add_func("/xfs-bulkstat/an-inode-is-what-the-kernel-says",
			test_an_inode_is_what_the_kernel_says);
	g_test_add_func("/xfs-bulkstat/an-old-kernel-counts-extents-too",
			test_an_old_kernel_counts_extents_too);
	g_test_add_func("/xfs-bulkstat/whether-it-works-is-told-with-the-cause",
			test_whether_it_works_is_told_with_the_cause);
	g_test_add_func("/xfs-bulkstat/what-cannot-be-listed-is-an-error",
			test_what_cannot_be_listed_is_an_error);
	g_test_add_func("/xfs-bulkstat/a-kernel-that-makes-no-sense-is-not-followed",
			test_a_kernel_that_makes_no_sense_is_not_followed);
	g_test_add_func("/xfs-bulkstat/an-inode-that-comes-twice-is-an-error",
			test_an_inode_that_comes_twice_is_an_error);

	return g_test_run();
}
