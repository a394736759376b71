/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-named-refs.h"

#include "kernel-ioctl/btrfs/btrfs-file-extent.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"
#include "tests/fs/kernel/real-filesystem.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BLOCK_BYTES  UINT64_C(4096)
#define EXTENT_BYTES (UINT64_C(1) << 20)

static uint64_t inode_of(int fd)
{
	FileStat stat;

	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	return stat.inode;
}

/* What names the extent that begins the file, of what was flushed now; to be unref'd. */
static GArray *read_named(const Scratch *scratch, int fd, size_t most, bool *ret_is_all)
{
	g_autoptr(GError) error = NULL;
	BtrfsFileExtent extent;
	BtrfsNamedRefs named;

	g_assert_cmpint(syncfs(scratch->fd), ==, 0);
	g_assert_true(btrfs_file_extent_read(fd, inode_of(fd), 0, &extent, &error));
	g_assert_true(btrfs_named_refs_read(scratch->fd, extent.bytenr, extent.disk_bytes, most,
					    &named, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(named.generation, >, 0);
	*ret_is_all = named.is_all;
	return named.refs;
}

/* Whether the item names one file only: @fd in the subvolume @root, @count times. */
static bool is_named_alone(const Scratch *scratch, uint64_t root, int fd, uint32_t count)
{
	bool is_all;
	g_autoptr(GArray) refs = read_named(scratch, fd, 8, &is_all);
	const BtrfsExtentRef *ref = &g_array_index(refs, BtrfsExtentRef, 0);

	g_assert_true(is_all);
	return refs->len == 1 && ref->root == root && ref->inode == inode_of(fd) &&
	       ref->offset == 0 && ref->count == count;
}

static void clone_block(int from, int to, uint64_t to_offset)
{
	struct file_clone_range range = {
		.src_fd = from,
		.src_length = BLOCK_BYTES,
		.dest_offset = to_offset,
	};

	g_assert_cmpint(ioctl(to, FICLONERANGE, &range), ==, 0);
}

/* Of a subvolume that is one leaf each snapshot has a copy, with references of its own. */
static void fill_leaves(Scratch *scratch)
{
	for (unsigned i = 0; i < 200; i++) {
		g_autofree char *name = g_strdup_printf("subvolume/small-%u", i);

		close(scratch_create(scratch, name, 100, i));
	}
}

static void test_an_item_names_the_file_whatever_snapshots_show(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) subvolume = real_filesystem_create_subvolume(scratch, "subvolume");
	g_auto(Fd) file = scratch_create(scratch, "subvolume/file", EXTENT_BYTES, 1);
	g_auto(Fd) other = -1;
	uint64_t root = 0;

	g_assert_true(fs_subvolume_read(subvolume, FS_KIND_BTRFS, &root, NULL));
	fill_leaves(scratch);
	g_assert_true(is_named_alone(scratch, root, file, 1));

	close(real_filesystem_create_snapshot(scratch, "subvolume", "first", true));
	close(scratch_create(scratch, "subvolume/more", BLOCK_BYTES, 2));
	close(real_filesystem_create_snapshot(scratch, "subvolume", "second", true));
	scratch_fill(file, EXTENT_BYTES / 4, BLOCK_BYTES, 3);
	g_assert_true(is_named_alone(scratch, root, file, 2));

	other = scratch_create(scratch, "subvolume/other", 0, 0);
	clone_block(file, other, 0);
	g_assert_false(is_named_alone(scratch, root, file, 2));

	real_filesystem_delete_subvolume(scratch, "first");
	real_filesystem_delete_subvolume(scratch, "second");
	real_filesystem_delete_subvolume(scratch, "subvolume");
}

static void test_references_beyond_the_most_are_told_of(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	static const size_t most[] = { 1, 20, 200, 201, 1000 };

	/* One name for each file: most of them are items of their own. */
	g_auto(Fd) block = scratch_create(scratch, "block", BLOCK_BYTES, 1);

	for (unsigned i = 0; i < 200; i++) {
		g_autofree char *name = g_strdup_printf("clone-%u", i);
		g_auto(Fd) clone = scratch_create(scratch, name, 0, 0);

		clone_block(block, clone, 0);
	}

	for (size_t i = 0; i < G_N_ELEMENTS(most); i++) {
		bool is_all;
		g_autoptr(GArray) refs = read_named(scratch, block, most[i], &is_all);

		g_assert_cmpuint(refs->len, ==, MIN(most[i], 201));
		g_assert_true(is_all == (most[i] >= 201));
	}
}

static void test_an_address_without_an_extent_has_no_names(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	BtrfsNamedRefs named;

	g_assert_true(
		btrfs_named_refs_read(scratch->fd, BLOCK_BYTES, BLOCK_BYTES, 8, &named, NULL));
	g_assert_cmpuint(named.refs->len, ==, 0);
	g_assert_cmpuint(named.generation, ==, 0);
	g_array_unref(named.refs);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (real_filesystem_kind() != FS_KIND_BTRFS || geteuid() != 0) {
		g_printerr("run this as root by tests/fs/kernel/on-filesystem btrfs\n");
		return 77;
	}

	g_test_add_func("/btrfs-named-refs/an-item-names-the-file-whatever-snapshots-show",
			test_an_item_names_the_file_whatever_snapshots_show);
	g_test_add_func("/btrfs-named-refs/references-beyond-the-most-are-told-of",
			test_references_beyond_the_most_are_told_of);
	g_test_add_func("/btrfs-named-refs/an-address-without-an-extent-has-no-names",
			test_an_address_without_an_extent_has_no_names);
	return g_test_run();
}
