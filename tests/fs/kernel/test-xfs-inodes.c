/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/extent-map.h"
#include "kernel-ioctl/file/file-attributes.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/fs-identity.h"
#include "kernel-ioctl/file/open-file.h"
#include "kernel-ioctl/xfs/xfs-bulkstat.h"
#include "kernel-ioctl/xfs/xfs-fsmap.h"
#include "kernel-ioctl/xfs/xfs-geometry.h"
#include "tests/fs/kernel/real-filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define N_FILES 3000

/* All inodes of a group, or of all groups, from @first on, in an array of XfsInode. */
static GArray *list(const Scratch *scratch, uint32_t group, uint64_t first)
{
	g_autoptr(XfsBulkstat) bulkstat = xfs_bulkstat_new(scratch->fd, group, first);
	GArray *inodes = g_array_new(false, false, sizeof(XfsInode));
	g_autoptr(GError) error = NULL;
	const XfsInode *inode;

	while (xfs_bulkstat_next(bulkstat, &inode, &error) && inode) {
		if (inodes->len > 0)
			g_assert_cmpuint(inode->inode, >,
					 g_array_index(inodes, XfsInode, inodes->len - 1).inode);
		g_array_append_val(inodes, *inode);
	}
	g_assert_no_error(error);
	return inodes;
}

static const XfsInode *find(const GArray *inodes, uint64_t number)
{
	for (guint i = 0; i < inodes->len; i++)
		if (g_array_index(inodes, XfsInode, i).inode == number)
			return &g_array_index(inodes, XfsInode, i);

	return NULL;
}

static void create_files(Scratch *scratch)
{
	for (unsigned i = 0; i < N_FILES; i++) {
		g_autofree char *name = g_strdup_printf("%u", i);

		close(scratch_create(scratch, name, i % 10, i));
	}
	g_assert_cmpint(syncfs(scratch->fd), ==, 0);
}

/* The inode is what statx(2) says of @name, and opens by what it says. */
static void assert_is(const Scratch *scratch, const GArray *inodes, const char *name)
{
	const XfsInode *inode;
	FileStat stat, opened;
	g_auto(Fd) fd = -1;
	int error;

	g_assert_cmpint(file_stat_at(scratch->fd, name, &stat), ==, 0);
	inode = find(inodes, stat.inode);
	g_assert_nonnull(inode);
	g_assert_cmpuint(inode->size_bytes, ==, stat.size_bytes);
	g_assert_cmpint(inode->btime_nsec, ==, stat.btime_nsec);
	g_assert_cmpint(inode->mtime_nsec, ==, stat.mtime_nsec);
	g_assert_cmpint(inode->ctime_nsec, ==, stat.ctime_nsec);
	g_assert_cmpuint(inode->mode, ==, stat.mode);
	g_assert_cmpuint(inode->nlink, ==, stat.nlink);
	g_assert_cmpuint(inode->uid, ==, stat.uid);

	g_assert_cmpint(open_file_by_id(scratch->fd, FS_KIND_XFS,
					&(FileId){ 0, inode->inode, inode->generation }, &fd,
					&error),
			==, OPEN_OPENED);
	g_assert_cmpint(file_stat_at(fd, "", &opened), ==, 0);
	g_assert_cmpuint(opened.inode, ==, stat.inode);
}

static void test_every_file_is_what_it_is_by_its_name(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(GArray) inodes = NULL;

	create_files(scratch);
	inodes = list(scratch, XFS_EVERY_GROUP, 0);
	g_assert_cmpuint(inodes->len, >, N_FILES);
	for (unsigned i = 0; i < N_FILES; i += 7) {
		g_autofree char *name = g_strdup_printf("%u", i);

		assert_is(scratch, inodes, name);
	}
}

static void test_groups_are_all_there_is_together(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(GArray) all = NULL;
	XfsGeometry geometry;
	guint n = 0;

	/* New directories go to groups in turn. */
	for (unsigned i = 0; i < 16; i++) {
		g_autofree char *name = g_strdup_printf("%u", i);

		g_assert_cmpint(mkdirat(scratch->fd, name, 0755), ==, 0);
	}
	g_assert_true(xfs_geometry_read(scratch->fd, &geometry, NULL));
	g_assert_cmpuint(geometry.n_groups, >, 1);

	all = list(scratch, XFS_EVERY_GROUP, 0);
	for (uint32_t group = 0; group < geometry.n_groups; group++) {
		g_autoptr(GArray) some = list(scratch, group, 0);

		g_assert_cmpuint(n + some->len, <=, all->len);
		for (guint i = 0; i < some->len; i++, n++)
			g_assert_cmpuint(g_array_index(some, XfsInode, i).inode, ==,
					 g_array_index(all, XfsInode, n).inode);
	}
	g_assert_cmpuint(n, ==, all->len);
}

static void test_it_goes_on_in_the_middle(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(GArray) all = NULL, rest = NULL;
	guint middle;

	create_files(scratch);
	all = list(scratch, XFS_EVERY_GROUP, 0);
	middle = all->len / 2;
	rest = list(scratch, XFS_EVERY_GROUP, g_array_index(all, XfsInode, middle).inode);
	g_assert_cmpuint(rest->len, ==, all->len - middle);
	g_assert_cmpuint(g_array_index(rest, XfsInode, 0).inode, ==,
			 g_array_index(all, XfsInode, middle).inode);
}

static void test_a_deleted_file_that_is_open_has_no_names(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 10, 1);
	FileStat stat;
	XfsInode inode;

	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	g_assert_true(xfs_inode_read(scratch->fd, stat.inode, &inode));
	g_assert_cmpuint(inode.nlink, ==, 1);
	g_assert_cmpint(unlinkat(scratch->fd, "file", 0), ==, 0);
	g_assert_true(xfs_inode_read(scratch->fd, stat.inode, &inode));
	g_assert_cmpuint(inode.nlink, ==, 0);
	fd_close(&fd);
}

static void test_an_inode_that_is_used_again_has_another_generation(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	XfsInode before, after;
	FileStat stat;

	close(scratch_create(scratch, "file", 10, 1));
	g_assert_cmpint(file_stat_at(scratch->fd, "file", &stat), ==, 0);
	g_assert_true(xfs_inode_read(scratch->fd, stat.inode, &before));
	g_assert_cmpint(unlinkat(scratch->fd, "file", 0), ==, 0);
	close(scratch_create(scratch, "other", 10, 1));
	g_assert_cmpint(file_stat_at(scratch->fd, "other", &stat), ==, 0);
	if (stat.inode != before.inode) {
		g_test_skip("the inode is not used again");
		return;
	}
	g_assert_true(xfs_inode_read(scratch->fd, stat.inode, &after));
	g_assert_cmpuint(after.generation, !=, before.generation);
}

static void test_a_number_without_an_inode_is_none(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	XfsInode inode;

	g_assert_false(xfs_inode_read(scratch->fd, 1, &inode));
	g_assert_false(xfs_inode_read(scratch->fd, UINT64_C(1) << 62, &inode));
}

/* What size_of() of bulk-inventory relies upon. */
static void test_what_is_not_written_out_shows_in_blocks_and_not_in_the_size(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 64 << 10, 1);
	FileStat stat;
	XfsInode inode;

	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	g_assert_true(xfs_inode_read(scratch->fd, stat.inode, &inode));
	if (inode.size_bytes == 0)
		g_assert_cmpuint(inode.blocks, >=, 16);
	else
		g_test_message("it was written out at once");
	g_assert_cmpint(inode.mtime_nsec, ==, stat.mtime_nsec);

	g_assert_cmpint(fsync(fd), ==, 0);
	g_assert_true(xfs_inode_read(scratch->fd, stat.inode, &inode));
	g_assert_cmpuint(inode.size_bytes, ==, 64 << 10);
	g_assert_cmpuint(inode.extents, >=, 1);
}

static void test_flags_come_with_the_inode(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 10, 1);
	XfsInode inode;
	FileStat stat;

	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	real_filesystem_set_flag(fd, FS_IMMUTABLE_FL, true);
	g_assert_true(xfs_inode_read(scratch->fd, stat.inode, &inode));
	g_assert_true(inode.is_immutable);
	real_filesystem_set_flag(fd, FS_IMMUTABLE_FL, false);
	g_assert_true(xfs_inode_read(scratch->fd, stat.inode, &inode));
	g_assert_false(inode.is_immutable);
}

static void list_as_nobody(void *data)
{
	Scratch *scratch = data;

	scratch_become_nobody();
	g_assert_cmpint(xfs_bulkstat_try(scratch->fd), ==, EPERM);
}

static void test_inodes_are_not_for_everyone(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	g_assert_cmpint(xfs_bulkstat_try(scratch->fd), ==, 0);
	scratch_run_in_child(list_as_nobody, scratch);
}

static void test_the_geometry_is_that_of_the_filesystem(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	FsIdentity identity;
	XfsGeometry geometry;

	g_assert_true(fs_identity_read(scratch->fd, &identity, NULL));
	g_assert_true(xfs_geometry_read(scratch->fd, &geometry, NULL));
	g_assert_cmpmem(geometry.uuid, 16, identity.uuid, FS_UUID_BYTES);
	g_assert_cmpuint(geometry.block_bytes, ==, identity.block_bytes);
	g_assert_true(geometry.has_reflink);
	g_assert_false(geometry.has_realtime);
	g_test_message("%u groups, %s rmapbt, %s parent pointers", geometry.n_groups,
		       geometry.has_rmapbt ? "with" : "without",
		       geometry.has_parents ? "with" : "without");
}

/* Every extent that FIEMAP shows of the file is in the map of owners, and no other. */
static void assert_is_mapped(const Scratch *scratch, int fd, uint64_t number)
{
	g_autoptr(XfsFsmap) fsmap = xfs_fsmap_new(scratch->fd);
	g_autoptr(ExtentMap) map = extent_map_new();
	const XfsOwnedExtent *owned;
	const MappedExtent *extent;
	uint64_t mapped_bytes = 0, owned_bytes = 0, last = 0;

	extent_map_start(map, fd, 0, UINT64_MAX, true);
	while (extent_map_next(map, &extent, NULL) && extent)
		mapped_bytes += extent->length;
	while (xfs_fsmap_next(fsmap, &owned, NULL) && owned) {
		g_assert_cmpuint(owned->physical, >=, last);
		last = owned->physical;
		if (owned->inode != number)
			continue;
		owned_bytes += owned->length;
		extent_map_start(map, fd, owned->offset, owned->length, true);
		g_assert_true(extent_map_next(map, &extent, NULL));
		g_assert_nonnull(extent);
		g_assert_cmpuint(extent->logical, ==, owned->offset);
		g_assert_cmpuint(extent->physical, ==, owned->physical);
	}
	g_assert_cmpuint(owned_bytes, ==, mapped_bytes);
}

static void test_the_map_of_owners_is_that_of_the_files(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 0, 0);
	g_auto(Fd) clone = scratch_create(scratch, "clone", 0, 0);
	XfsGeometry geometry;
	FileStat stat;

	g_assert_true(xfs_geometry_read(scratch->fd, &geometry, NULL));
	for (unsigned i = 0; i < 3000; i++)
		scratch_fill(fd, i * UINT64_C(8192), 4096, i);
	g_assert_cmpint(syncfs(fd), ==, 0);
	g_assert_cmpint(ioctl(clone, FICLONE, fd), ==, 0);
	if (!geometry.has_rmapbt) {
		g_test_skip("it was made without rmapbt");
		return;
	}

	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	assert_is_mapped(scratch, fd, stat.inode);
	g_assert_cmpint(file_stat_at(clone, "", &stat), ==, 0);
	assert_is_mapped(scratch, clone, stat.inode);
}

static void test_without_rmapbt_no_files_are_in_the_map(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(XfsFsmap) fsmap = xfs_fsmap_new(scratch->fd);
	g_autoptr(GError) error = NULL;
	const XfsOwnedExtent *owned;
	XfsGeometry geometry;

	close(scratch_create(scratch, "file", 1 << 20, 1));
	g_assert_cmpint(syncfs(scratch->fd), ==, 0);
	g_assert_true(xfs_geometry_read(scratch->fd, &geometry, NULL));
	g_assert_true(xfs_fsmap_next(fsmap, &owned, &error));
	g_assert_no_error(error);
	g_assert_cmpint(owned != NULL, ==, geometry.has_rmapbt);
}

/* They are believed only of the same device: the mount may have been replaced since. */
static void test_options_that_were_read_before_tell_a_copy(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	struct stat state;

	g_assert_cmpint(fstat(scratch->fd, &state), ==, 0);
	const struct {
		FsMount mount;
		bool is_copy;
	} cases[] = {
		{ { state.st_dev, "rw,nouuid" }, true },
		{ { state.st_dev, "rw" }, false },
		{ { state.st_dev, NULL }, false },
		{ { state.st_dev + 1, "rw,nouuid" }, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		FsIdentity identity;

		g_assert_true(
			fs_identity_read_mounted(scratch->fd, &cases[i].mount, &identity, NULL));
		g_assert_cmpint(fs_identity_is_copy(&identity), ==, cases[i].is_copy);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (real_filesystem_kind() != FS_KIND_XFS || geteuid() != 0) {
		g_printerr("run this as root by tests/fs/kernel/on-filesystem xfs\n");
		return 77;
	}

	g_test_add_func("/xfs-inodes/every-file-is-what-it-is-by-its-name",
			test_every_file_is_what_it_is_by_its_name);
	g_test_add_func("/xfs-inodes/groups-are-all-there-is-together",
			test_groups_are_all_there_is_together);
	g_test_add_func("/xfs-inodes/it-goes-on-in-the-middle", test_it_goes_on_in_the_middle);
	g_test_add_func("/xfs-inodes/a-deleted-file-that-is-open-has-no-names",
			test_a_deleted_file_that_is_open_has_no_names);
	g_test_add_func("/xfs-inodes/an-inode-that-is-used-again-has-another-generation",
			test_an_inode_that_is_used_again_has_another_generation);
	g_test_add_func("/xfs-inodes/a-number-without-an-inode-is-none",
			test_a_number_without_an_inode_is_none);
	g_test_add_func("/xfs-inodes/what-is-not-written-out-shows-in-blocks-and-not-in-the-size",
			test_what_is_not_written_out_shows_in_blocks_and_not_in_the_size);
	g_test_add_func("/xfs-inodes/flags-come-with-the-inode", test_flags_come_with_the_inode);
	g_test_add_func("/xfs-inodes/inodes-are-not-for-everyone",
			test_inodes_are_not_for_everyone);
	g_test_add_func("/xfs-inodes/the-geometry-is-that-of-the-filesystem",
			test_the_geometry_is_that_of_the_filesystem);
	g_test_add_func("/xfs-inodes/the-map-of-owners-is-that-of-the-files",
			test_the_map_of_owners_is_that_of_the_files);
	g_test_add_func("/xfs-inodes/without-rmapbt-no-files-are-in-the-map",
			test_without_rmapbt_no_files_are_in_the_map);
	g_test_add_func("/xfs-inodes/options-that-were-read-before-tell-a-copy",
			test_options_that_were_read_before_tell_a_copy);

	return g_test_run();
}
