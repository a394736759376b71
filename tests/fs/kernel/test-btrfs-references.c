/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"
#include "kernel-ioctl/btrfs/btrfs-inode.h"
#include "kernel-ioctl/btrfs/btrfs-refs.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/open-file.h"
#include "tests/fs/kernel/real-filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES UINT64_C(4096)
#define KIB         (UINT64_C(1) << 10)
#define MIB         (UINT64_C(1) << 20)

static void flush(const Scratch *scratch)
{
	g_assert_cmpint(syncfs(scratch->fd), ==, 0);
}

static uint64_t inode_of(int fd)
{
	FileStat stat;

	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	return stat.inode;
}

static uint64_t subvolume_of(int fd)
{
	uint64_t id = 0;

	g_assert_true(fs_subvolume_read(fd, FS_KIND_BTRFS, &id, NULL));
	return id;
}

/* The address of the extent that begins the file. */
static uint64_t bytenr_of(int fd)
{
	g_autoptr(GError) error = NULL;
	BtrfsFileExtent extent = { 0 };

	g_assert_true(btrfs_file_extent_read(fd, inode_of(fd), 0, &extent, &error));
	g_assert_no_error(error);
	return extent.bytenr;
}

static BtrfsRefsOutcome read_refs(BtrfsRefs *refs, const Scratch *scratch, uint64_t bytenr)
{
	BtrfsRefsOutcome outcome = (BtrfsRefsOutcome)99;
	g_autoptr(GError) error = NULL;

	g_assert_true(btrfs_refs_read(refs, scratch->fd, bytenr, &outcome, &error));
	g_assert_no_error(error);
	return outcome;
}

static bool has_ref(const BtrfsRefs *refs, uint64_t root, uint64_t inode, uint64_t offset)
{
	size_t n;
	const BtrfsRef *list = btrfs_refs_list(refs, &n);

	for (size_t i = 0; i < n; i++)
		if (list[i].root == root && list[i].inode == inode && list[i].offset == offset)
			return true;
	return false;
}

static size_t count_refs(const BtrfsRefs *refs)
{
	size_t n;

	btrfs_refs_list(refs, &n);
	return n;
}

static void clone_range(int from, uint64_t offset, uint64_t length, int to, uint64_t to_offset)
{
	struct file_clone_range range = {
		.src_fd = from,
		.src_offset = offset,
		.src_length = length,
		.dest_offset = to_offset,
	};

	g_assert_cmpint(ioctl(to, FICLONERANGE, &range), ==, 0);
}

static void test_snapshots_refer_to_the_extents_of_what_they_are_of(void)
{
	static const char *const names[] = { "snapshot-1", "snapshot-2", "snapshot-3" };
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();
	g_auto(Fd) subvolume = real_filesystem_create_subvolume(scratch, "subvolume");
	g_auto(Fd) file = scratch_create(scratch, "subvolume/file", MIB, 1);

	flush(scratch);
	g_assert_cmpint(read_refs(refs, scratch, bytenr_of(file)), ==, BTRFS_REFS_READ);
	g_assert_cmpuint(count_refs(refs), ==, 1);

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		close(real_filesystem_create_snapshot(scratch, "subvolume", names[i], i > 0));
	flush(scratch);
	g_assert_cmpint(read_refs(refs, scratch, bytenr_of(file)), ==, BTRFS_REFS_READ);
	g_assert_cmpuint(count_refs(refs), ==, 4);
	g_assert_true(has_ref(refs, subvolume_of(subvolume), inode_of(file), 0));
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_auto(Fd) fd = openat(scratch->fd, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		g_assert_true(has_ref(refs, subvolume_of(fd), inode_of(file), 0));
		real_filesystem_delete_subvolume(scratch, names[i]);
	}
	real_filesystem_delete_subvolume(scratch, "subvolume");
}

/* Open the file that @ref tells of as one who knows nothing else of it. */
static int open_ref(const Scratch *scratch, const BtrfsRef *ref)
{
	g_autoptr(GError) error = NULL;
	BtrfsInodeItem inode;
	FileId id = { .subvolume = ref->root, .inode = ref->inode };
	bool is_found;
	int fd, failure;

	g_assert_true(
		btrfs_inode_read(scratch->fd, ref->root, ref->inode, &inode, &is_found, &error));
	g_assert_no_error(error);
	g_assert_true(is_found);
	id.generation = (uint32_t)inode.generation;
	g_assert_cmpint(open_file_by_id(scratch->fd, FS_KIND_BTRFS, &id, &fd, &failure), ==,
			OPEN_OPENED);
	return fd;
}

static void test_a_file_of_a_read_only_snapshot_opens_by_what_a_reference_tells(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();
	g_auto(Fd) subvolume = real_filesystem_create_subvolume(scratch, "subvolume");
	g_auto(Fd) file = scratch_create(scratch, "subvolume/file", MIB, 1);
	g_auto(Fd) snapshot =
		real_filesystem_create_snapshot(scratch, "subvolume", "snapshot", true);
	uint64_t bytenr = bytenr_of(file);
	const BtrfsRef *list;
	size_t n;

	/* Only the snapshot has the extent from now on. */
	g_assert_cmpint(unlinkat(subvolume, "file", 0), ==, 0);
	fd_close(&file);
	flush(scratch);

	g_assert_cmpint(read_refs(refs, scratch, bytenr), ==, BTRFS_REFS_READ);
	list = btrfs_refs_list(refs, &n);
	g_assert_cmpuint(n, ==, 1);
	g_assert_cmpuint(list[0].root, ==, subvolume_of(snapshot));
	file = open_ref(scratch, &list[0]);
	g_assert_cmpuint(subvolume_of(file), ==, subvolume_of(snapshot));
	g_assert_cmpuint(bytenr_of(file), ==, bytenr);

	fd_close(&file);
	fd_close(&snapshot);
	real_filesystem_delete_subvolume(scratch, "snapshot");
	real_filesystem_delete_subvolume(scratch, "subvolume");
}

static void assert_byte_is_shown_by(BtrfsRefs *refs, const Scratch *scratch, uint64_t address,
				    size_t n_refs)
{
	g_autoptr(GError) error = NULL;
	BtrfsRefsOutcome outcome;

	g_assert_true(btrfs_refs_read_byte(refs, scratch->fd, address, 0, &outcome, &error));
	g_assert_no_error(error);
	g_assert_cmpint(outcome, ==, BTRFS_REFS_READ);
	g_assert_cmpuint(count_refs(refs), ==, n_refs);
}

static void assert_read_only(int fd, bool expected)
{
	g_autoptr(GError) error = NULL;
	bool is_read_only = !expected;

	g_assert_true(btrfs_subvolume_is_read_only(fd, &is_read_only, &error));
	g_assert_no_error(error);
	g_assert_cmpint(is_read_only, ==, expected);
}

static void test_a_subvolume_tells_any_file_of_it_whether_it_is_read_only(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) subvolume = real_filesystem_create_subvolume(scratch, "subvolume");
	g_auto(Fd) file = scratch_create(scratch, "subvolume/file", 1, 1);
	g_auto(Fd) snapshot =
		real_filesystem_create_snapshot(scratch, "subvolume", "snapshot", true);
	g_auto(Fd) kept = openat(snapshot, "file", O_RDONLY | O_CLOEXEC);

	assert_read_only(scratch->fd, false);
	assert_read_only(subvolume, false);
	assert_read_only(file, false);
	assert_read_only(snapshot, true);
	assert_read_only(kept, true);

	fd_close(&kept);
	fd_close(&file);
	fd_close(&snapshot);
	fd_close(&subvolume);
	real_filesystem_delete_subvolume(scratch, "snapshot");
	real_filesystem_delete_subvolume(scratch, "subvolume");
}

static void test_a_part_of_an_extent_refers_to_all_of_it(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();
	g_auto(Fd) whole = scratch_create(scratch, "whole", MIB, 1);
	g_auto(Fd) part = scratch_create(scratch, "part", 0, 0);
	BtrfsFileExtent extent;

	clone_range(whole, 512 * KIB, 256 * KIB, part, 0);
	flush(scratch);
	g_assert_cmpint(read_refs(refs, scratch, bytenr_of(whole)), ==, BTRFS_REFS_READ);
	g_assert_cmpuint(count_refs(refs), ==, 2);
	g_assert_true(has_ref(refs, 5, inode_of(whole), 0));
	g_assert_true(has_ref(refs, 5, inode_of(part), 0));

	assert_byte_is_shown_by(refs, scratch, bytenr_of(whole) + 512 * KIB, 2);
	assert_byte_is_shown_by(refs, scratch, bytenr_of(whole) + 512 * KIB - 1, 1);
	g_assert_true(has_ref(refs, 5, inode_of(whole), 512 * KIB - 1));

	g_assert_true(btrfs_file_extent_read(part, inode_of(part), 0, &extent, NULL));
	g_assert_cmpuint(extent.bytenr, ==, bytenr_of(whole));
	g_assert_cmpuint(extent.offset, ==, 512 * KIB);
	g_assert_cmpuint(extent.length, ==, 256 * KIB);
	g_assert_cmpuint(extent.disk_bytes, ==, MIB);

	/* An address inside is taken for the extent's. */
	g_assert_cmpint(read_refs(refs, scratch, bytenr_of(whole) + 64 * KIB), ==, BTRFS_REFS_READ);
	g_assert_cmpuint(count_refs(refs), ==, 2);
}

typedef struct {
	uint64_t refs;       /* as the extent item says */
	uint64_t n_inline;   /* as its references sum up to */
	uint64_t n_in_items; /* as the items behind it do */
	uint64_t n_leaves;   /* of these, of leaves */
} ExtentCount;

static void count_inline(const BtrfsTreeItem *item, ExtentCount *count)
{
	const BtrfsExtentRef *ref;
	BtrfsExtentItem extent;
	BtrfsExtentRefs refs;

	g_assert_true(btrfs_extent_item_read(item->data, item->length, &extent));
	g_assert_true(extent.is_data);
	count->refs = extent.refs;
	btrfs_extent_refs_start(&refs, &extent);
	while (btrfs_extent_refs_next(&refs, &ref) && ref) {
		count->n_inline += ref->count;
		count->n_leaves += ref->kind == BTRFS_EXTENT_REF_LEAF;
	}
	g_assert_cmpuint(refs.n_left, ==, 0);
}

static ExtentCount count_in_extent_tree(const Scratch *scratch, uint64_t bytenr)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_EXTENT_TREE_OBJECTID,
		.first = { bytenr, 0, 0 },
		.last = { bytenr, UINT8_MAX, UINT64_MAX },
		/* A block group may begin at the same address. */
		.types = { BTRFS_EXTENT_ITEM_KEY, BTRFS_EXTENT_DATA_REF_KEY,
			   BTRFS_SHARED_DATA_REF_KEY },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	ExtentCount count = { 0 };
	const BtrfsTreeItem *item;

	btrfs_tree_start(tree, scratch->fd, &range);
	while (btrfs_tree_next(tree, &item, NULL) && item) {
		BtrfsExtentRef ref;

		if (item->key.type == BTRFS_EXTENT_ITEM_KEY) {
			count_inline(item, &count);
			continue;
		}
		g_assert_true(btrfs_extent_ref_item_read(item->key.type, item->key.offset,
							 item->data, item->length, &ref));
		count.n_in_items += ref.count;
		count.n_leaves += ref.kind == BTRFS_EXTENT_REF_LEAF;
	}
	return count;
}

static void test_thousands_of_references_to_one_extent_are_all_found(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();
	g_auto(Fd) block = scratch_create(scratch, "block", BLOCK_BYTES, 1);
	g_auto(Fd) file = scratch_create(scratch, "file", 0, 0);
	g_autofree bool *is_seen = g_new0(bool, 5000);
	const BtrfsRef *list;
	ExtentCount count;
	int64_t start;
	size_t n;

	flush(scratch);
	for (uint64_t i = 0; i < 5000; i++)
		clone_range(block, 0, BLOCK_BYTES, file, i * BLOCK_BYTES);
	flush(scratch);

	start = g_get_monotonic_time();
	g_assert_cmpint(read_refs(refs, scratch, bytenr_of(block)), ==, BTRFS_REFS_READ);
	g_test_message("5001 references took %" G_GINT64_FORMAT " microseconds",
		       g_get_monotonic_time() - start);
	list = btrfs_refs_list(refs, &n);
	g_assert_cmpuint(n, ==, 5001);
	for (size_t i = 0; i < n; i++) {
		g_assert_cmpuint(list[i].root, ==, 5);
		if (list[i].inode != inode_of(file))
			continue;
		g_assert_false(is_seen[list[i].offset / BLOCK_BYTES]);
		is_seen[list[i].offset / BLOCK_BYTES] = true;
	}
	g_assert_true(has_ref(refs, 5, inode_of(block), 0));

	count = count_in_extent_tree(scratch, bytenr_of(block));
	g_test_message("%" G_GUINT64_FORMAT " of them are inline", count.n_inline);
	g_assert_cmpuint(count.refs, ==, 5001);
	g_assert_cmpuint(count.n_inline + count.n_in_items, ==, 5001);
	g_assert_cmpuint(count.n_in_items, >, 4000);
	g_assert_cmpuint(count.n_leaves, ==, 0);
}

static void test_leaves_that_snapshots_share_count_once_in_the_extent_tree(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();
	uint64_t bytenr;
	ExtentCount count;
	g_auto(Fd) file = -1;

	close(real_filesystem_create_subvolume(scratch, "subvolume"));
	file = scratch_create(scratch, "subvolume/file", MIB, 1);
	/* A tree of one leaf has nothing to share: its root is copied for every snapshot. */
	for (unsigned i = 0; i < 300; i++) {
		g_autofree char *name = g_strdup_printf("subvolume/%u", i);

		close(scratch_create(scratch, name, 0, 0));
	}
	flush(scratch);
	bytenr = bytenr_of(file);
	for (unsigned i = 0; i < 5; i++) {
		g_autofree char *name = g_strdup_printf("snapshot-%u", i);

		close(real_filesystem_create_snapshot(scratch, "subvolume", name, true));
	}
	flush(scratch);
	count = count_in_extent_tree(scratch, bytenr);
	g_assert_cmpuint(count.refs, ==, 1);
	g_assert_cmpint(read_refs(refs, scratch, bytenr), ==, BTRFS_REFS_READ);
	g_assert_cmpuint(count_refs(refs), ==, 6);

	/* The leaf is copied, and the old one, which has no owner, is what the snapshots share. */
	g_assert_cmpint(fchmod(file, 0600), ==, 0);
	flush(scratch);
	count = count_in_extent_tree(scratch, bytenr);
	g_test_message("after the leaf was copied: %" G_GUINT64_FORMAT
		       " references, %" G_GUINT64_FORMAT " of leaves",
		       count.refs, count.n_leaves);
	g_assert_cmpuint(count.refs, ==, 2);
	g_assert_cmpuint(count.n_inline, ==, 2);
	g_assert_cmpuint(count.n_leaves, ==, 1);
	g_assert_cmpint(read_refs(refs, scratch, bytenr), ==, BTRFS_REFS_READ);
	g_assert_cmpuint(count_refs(refs), ==, 6);

	for (unsigned i = 0; i < 5; i++) {
		g_autofree char *name = g_strdup_printf("snapshot-%u", i);

		real_filesystem_delete_subvolume(scratch, name);
	}
	real_filesystem_delete_subvolume(scratch, "subvolume");
}

static uint64_t any_tree_block(const Scratch *scratch)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_EXTENT_TREE_OBJECTID,
		.last = { UINT64_MAX, UINT8_MAX, UINT64_MAX },
		.types = { BTRFS_METADATA_ITEM_KEY },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	const BtrfsTreeItem *item;
	BtrfsExtentItem extent;

	btrfs_tree_start(tree, scratch->fd, &range);
	g_assert_true(btrfs_tree_next(tree, &item, NULL));
	g_assert_nonnull(item);
	g_assert_true(btrfs_extent_item_read(item->data, item->length, &extent));
	g_assert_false(extent.is_data);
	return item->key.objectid;
}

static void test_an_address_without_data_is_an_outcome(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();
	g_auto(Fd) file = scratch_create(scratch, "file", MIB, 1);
	uint64_t bytenr;

	flush(scratch);
	bytenr = bytenr_of(file);
	g_assert_cmpint(read_refs(refs, scratch, any_tree_block(scratch)), ==, BTRFS_REFS_GONE);
	g_assert_cmpint(read_refs(refs, scratch, UINT64_C(1) << 60), ==, BTRFS_REFS_GONE);

	/* Deleted and still open: the inode is there until the last descriptor is closed. */
	g_assert_cmpint(unlinkat(scratch->fd, "file", 0), ==, 0);
	flush(scratch);
	g_assert_cmpint(read_refs(refs, scratch, bytenr), ==, BTRFS_REFS_READ);
	g_assert_cmpuint(count_refs(refs), ==, 1);
	fd_close(&file);
	flush(scratch);
	g_assert_cmpint(read_refs(refs, scratch, bytenr), ==, BTRFS_REFS_GONE);
	g_assert_cmpuint(count_refs(refs), ==, 0);
}

static const BtrfsSubvolume *find_subvolume(const GArray *subvolumes, uint64_t id)
{
	for (size_t i = 0; i < subvolumes->len; i++) {
		const BtrfsSubvolume *subvolume = &g_array_index(subvolumes, BtrfsSubvolume, i);

		if (subvolume->id == id)
			return subvolume;
	}
	return NULL;
}

static GArray *list_subvolumes(const Scratch *scratch)
{
	g_autoptr(GError) error = NULL;
	GArray *subvolumes = NULL;

	g_assert_true(btrfs_subvolumes_read(scratch->fd, &subvolumes, &error));
	g_assert_no_error(error);
	for (size_t i = 1; i < subvolumes->len; i++)
		g_assert_cmpuint(g_array_index(subvolumes, BtrfsSubvolume, i - 1).id, <,
				 g_array_index(subvolumes, BtrfsSubvolume, i).id);
	return subvolumes;
}

static void test_subvolumes_are_listed_mounted_or_not(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) outer = real_filesystem_create_subvolume(scratch, "outer");
	Scratch inside = { .fd = outer };
	g_auto(Fd) inner = real_filesystem_create_subvolume(&inside, "inner");
	g_auto(Fd) snapshot = -1;
	g_autoptr(GArray) subvolumes = NULL;
	const BtrfsSubvolume *of_outer, *of_inner, *of_snapshot, *top;

	flush(scratch);
	snapshot = real_filesystem_create_snapshot(scratch, "outer", "snapshot", true);
	flush(scratch);
	subvolumes = list_subvolumes(scratch);
	top = &g_array_index(subvolumes, BtrfsSubvolume, 0);
	of_outer = find_subvolume(subvolumes, subvolume_of(outer));
	of_inner = find_subvolume(subvolumes, subvolume_of(inner));
	of_snapshot = find_subvolume(subvolumes, subvolume_of(snapshot));
	g_assert_true(of_outer && of_inner && of_snapshot);

	g_assert_cmpuint(top->id, ==, BTRFS_SUBVOLUME_TOP);
	g_assert_cmpuint(top->parent_id, ==, 0);
	g_assert_cmpuint(of_outer->parent_id, ==, BTRFS_SUBVOLUME_TOP);
	g_assert_cmpuint(of_inner->parent_id, ==, of_outer->id);
	g_assert_cmpuint(of_snapshot->parent_id, ==, BTRFS_SUBVOLUME_TOP);
	g_assert_true(of_snapshot->is_read_only && !of_outer->is_read_only);
	g_assert_false(of_outer->is_dead || of_inner->is_dead || of_snapshot->is_dead);
	g_assert_cmpuint(of_snapshot->otransid, >, of_outer->otransid);
	g_assert_cmpuint(of_snapshot->generation, >=, of_snapshot->otransid);
	g_assert_cmpmem(of_snapshot->parent_uuid, FS_UUID_BYTES, of_outer->uuid, FS_UUID_BYTES);

	fd_close(&inner);
	real_filesystem_delete_subvolume(scratch, "snapshot");
	g_assert_cmpint(unlinkat(outer, "inner", AT_REMOVEDIR), ==, 0);
	real_filesystem_delete_subvolume(scratch, "outer");
}

static void test_a_deleted_subvolume_is_dead_until_it_has_gone(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();
	g_auto(Fd) subvolume = real_filesystem_create_subvolume(scratch, "subvolume");
	g_auto(Fd) file = scratch_create(scratch, "subvolume/file", MIB, 1);
	g_autoptr(GArray) during = NULL;
	g_autoptr(GArray) after = NULL;
	uint64_t id = subvolume_of(subvolume);
	uint64_t inode = inode_of(file);
	BtrfsInodeItem item;
	uint64_t bytenr;
	bool is_found;

	flush(scratch);
	bytenr = bytenr_of(file);
	/* An open file keeps it, and its references, but not what they tell of. */
	real_filesystem_delete_subvolume(scratch, "subvolume");
	flush(scratch);
	during = list_subvolumes(scratch);
	g_assert_nonnull(find_subvolume(during, id));
	g_assert_true(find_subvolume(during, id)->is_dead);
	g_assert_cmpuint(find_subvolume(during, id)->parent_id, ==, 0);
	g_assert_true(btrfs_inode_read(scratch->fd, id, inode, &item, &is_found, NULL));
	g_assert_false(is_found);
	g_assert_cmpint(read_refs(refs, scratch, bytenr), ==, BTRFS_REFS_READ);
	g_assert_true(has_ref(refs, id, inode, 0));

	fd_close(&file);
	fd_close(&subvolume);
	for (unsigned i = 0; i < 100; i++) {
		g_clear_pointer(&after, g_array_unref);
		after = list_subvolumes(scratch);
		if (!find_subvolume(after, id))
			break;
		/* It wakes whoever gives the space back, syncfs() does not. */
		g_assert_cmpint(ioctl(scratch->fd, BTRFS_IOC_SYNC), ==, 0);
		g_usleep(100000);
	}
	g_assert_null(find_subvolume(after, id));
	flush(scratch);
	g_assert_cmpint(read_refs(refs, scratch, bytenr), ==, BTRFS_REFS_GONE);
}

static void read_refs_as_nobody(void *data)
{
	const Scratch *scratch = data;
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();
	g_autoptr(GError) error = NULL;
	BtrfsRefsOutcome outcome;

	scratch_become_nobody();
	g_assert_false(btrfs_refs_read(refs, scratch->fd, BLOCK_BYTES, &outcome, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM);
}

static void test_references_are_not_for_everyone(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	scratch_run_in_child(read_refs_as_nobody, scratch);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (real_filesystem_kind() != FS_KIND_BTRFS || geteuid() != 0) {
		g_printerr("run this as root by tests/fs/kernel/on-filesystem btrfs\n");
		return 77;
	}

	g_test_add_func("/btrfs-references/snapshots-refer-to-the-extents-of-what-they-are-of",
			test_snapshots_refer_to_the_extents_of_what_they_are_of);
	g_test_add_func(
		"/btrfs-references/a-file-of-a-read-only-snapshot-opens-by-what-a-reference-tells",
		test_a_file_of_a_read_only_snapshot_opens_by_what_a_reference_tells);
	g_test_add_func(
		"/btrfs-references/a-subvolume-tells-any-file-of-it-whether-it-is-read-only",
		test_a_subvolume_tells_any_file_of_it_whether_it_is_read_only);
	g_test_add_func("/btrfs-references/a-part-of-an-extent-refers-to-all-of-it",
			test_a_part_of_an_extent_refers_to_all_of_it);
	g_test_add_func("/btrfs-references/thousands-of-references-to-one-extent-are-all-found",
			test_thousands_of_references_to_one_extent_are_all_found);
	g_test_add_func(
		"/btrfs-references/leaves-that-snapshots-share-count-once-in-the-extent-tree",
		test_leaves_that_snapshots_share_count_once_in_the_extent_tree);
	g_test_add_func("/btrfs-references/an-address-without-data-is-an-outcome",
			test_an_address_without_data_is_an_outcome);
	g_test_add_func("/btrfs-references/subvolumes-are-listed-mounted-or-not",
			test_subvolumes_are_listed_mounted_or_not);
	g_test_add_func("/btrfs-references/a-deleted-subvolume-is-dead-until-it-has-gone",
			test_a_deleted_subvolume_is_dead_until_it_has_gone);
	g_test_add_func("/btrfs-references/references-are-not-for-everyone",
			test_references_are_not_for_everyone);

	return g_test_run();
}
