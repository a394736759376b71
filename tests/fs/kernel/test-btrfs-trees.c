/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"
#include "kernel-ioctl/btrfs/btrfs-inode.h"
#include "kernel-ioctl/btrfs/btrfs-names.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/machine/device-health.h"
#include "tests/fs/kernel/real-filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define BLOCK_BYTES UINT64_C(4096)
#define KIB         (UINT64_C(1) << 10)
#define MIB         (UINT64_C(1) << 20)

static void flush(const Scratch *scratch)
{
	g_assert_cmpint(syncfs(scratch->fd), ==, 0);
}

static BtrfsInfo read_info(const Scratch *scratch)
{
	g_autoptr(GError) error = NULL;
	BtrfsInfo info;

	g_assert_true(btrfs_info_read(scratch->fd, &info, &error));
	g_assert_no_error(error);
	return info;
}

static const BtrfsTreeItem *next_item(BtrfsTree *tree)
{
	g_autoptr(GError) error = NULL;
	const BtrfsTreeItem *item;

	g_assert_true(btrfs_tree_next(tree, &item, &error));
	g_assert_no_error(error);
	return item;
}

static uint64_t inode_of(int fd)
{
	FileStat stat;

	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	return stat.inode;
}

static void add_block(GHashTable *blocks, uint64_t bytenr, const uint8_t *sum, size_t sum_bytes)
{
	uint64_t *key = g_memdup2(&bytenr, sizeof(bytenr));

	g_assert_cmpuint(bytenr % BLOCK_BYTES, ==, 0);
	g_assert_true(g_hash_table_insert(blocks, key, g_bytes_new(sum, sum_bytes)));
}

static GHashTable *blocks_new(void)
{
	return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
				     (GDestroyNotify)g_bytes_unref);
}

/* Every block that has a sum, with it. */
static GHashTable *read_sums(const Scratch *scratch)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_CSUM_TREE_OBJECTID,
		.first = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, 0 },
		.last = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, UINT64_MAX },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	GHashTable *sums = blocks_new();
	BtrfsInfo info = read_info(scratch);
	const BtrfsTreeItem *item;

	btrfs_tree_start(tree, scratch->fd, &range);
	while ((item = next_item(tree))) {
		BtrfsCsumItem csums;

		g_assert_true(
			btrfs_csum_item_read(item->data, item->length, info.sum_bytes, &csums));
		for (uint32_t i = 0; i < csums.n_sums; i++)
			add_block(sums, item->key.offset + i * BLOCK_BYTES,
				  csums.sums + i * info.sum_bytes, info.sum_bytes);
	}
	return sums;
}

/* Every block of a data extent. */
static GHashTable *read_data_blocks(const Scratch *scratch)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_EXTENT_TREE_OBJECTID,
		.last = { UINT64_MAX, UINT8_MAX, UINT64_MAX },
		.types = { BTRFS_EXTENT_ITEM_KEY },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	GHashTable *blocks = blocks_new();
	const BtrfsTreeItem *item;

	btrfs_tree_start(tree, scratch->fd, &range);
	while ((item = next_item(tree))) {
		BtrfsExtentItem extent;

		g_assert_true(btrfs_extent_item_read(item->data, item->length, &extent));
		for (uint64_t at = 0; extent.is_data && at < item->key.offset; at += BLOCK_BYTES)
			add_block(blocks, item->key.objectid + at, NULL, 0);
	}
	return blocks;
}

static GBytes *sum_at(GHashTable *sums, uint64_t bytenr)
{
	return g_hash_table_lookup(sums, &bytenr);
}

/* How many of the file's blocks have a sum. */
static unsigned count_sums(GHashTable *sums, int fd, uint64_t length)
{
	g_autofree uint64_t *addresses = real_filesystem_addresses(fd, length);
	unsigned n_sums = 0;

	for (uint64_t i = 0; i * BLOCK_BYTES < length; i++)
		n_sums += addresses[i] && sum_at(sums, addresses[i]);
	return n_sums;
}

static void test_extents_and_sums_are_exactly_the_blocks_of_files(void)
{
	static const uint64_t sizes[] = { 100, 4 * KIB, 100 * KIB, 1 * MIB, 40 * MIB };
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(GHashTable) sums = NULL;
	g_autoptr(GHashTable) blocks = NULL;
	unsigned n_blocks = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autofree char *name = g_strdup_printf("file-%zu", i);

		close(scratch_create(scratch, name, sizes[i], (uint32_t)i));
	}
	flush(scratch);
	sums = read_sums(scratch);
	blocks = read_data_blocks(scratch);

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autofree char *name = g_strdup_printf("file-%zu", i);
		g_auto(Fd) fd = openat(scratch->fd, name, O_RDONLY | O_CLOEXEC);
		g_autofree uint64_t *addresses = real_filesystem_addresses(fd, sizes[i]);

		for (uint64_t at = 0; at < sizes[i]; at += BLOCK_BYTES) {
			uint64_t address = addresses[at / BLOCK_BYTES];

			g_assert_cmpint(sum_at(sums, address) != NULL, ==, sizes[i] > 100);
			g_assert_cmpint(sum_at(blocks, address) != NULL, ==, sizes[i] > 100);
			n_blocks += address != 0;
		}
	}
	g_assert_cmpuint(g_hash_table_size(sums), ==, n_blocks);
	g_assert_cmpuint(g_hash_table_size(blocks), ==, n_blocks);
}

static void test_sums_are_those_of_the_data(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", MIB, 1);
	g_autofree uint64_t *addresses = NULL;
	g_autoptr(GHashTable) sums = NULL;
	uint8_t block[BLOCK_BYTES] = { 0 };
	uint8_t expected[BTRFS_SUM_BYTES_MAX];
	BtrfsInfo info = read_info(scratch);

	g_assert_cmpuint(info.sector_bytes, ==, BLOCK_BYTES);
	g_assert_true(btrfs_checksum_of_zeros(info.checksum, info.sector_bytes, expected));
	g_assert_cmpint(pwrite(fd, block, sizeof(block), 0), ==, sizeof(block));
	addresses = real_filesystem_addresses(fd, MIB);
	sums = read_sums(scratch);
	for (uint64_t i = 0; i < MIB / BLOCK_BYTES; i++) {
		GBytes *sum = sum_at(sums, addresses[i]);

		g_assert_nonnull(sum);
		g_assert_cmpmem(g_bytes_get_data(sum, NULL), info.sum_bytes, expected,
				info.sum_bytes);
		/* Of BLAKE2b that of zeros is known and no other. */
		if (info.checksum == BTRFS_CHECKSUM_BLAKE2B)
			return;
		g_assert_cmpint(pread(fd, block, sizeof(block), (off_t)((i + 1) * BLOCK_BYTES)), >=,
				0);
		g_assert_true(
			btrfs_checksum_compute(info.checksum, block, sizeof(block), expected));
	}
}

static void test_what_is_older_than_a_transaction_is_left_out(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	BtrfsTreeRange range = { .last = { UINT64_MAX, UINT8_MAX, UINT64_MAX } };
	unsigned n_all = 0, n_new = 0, n_changed = 0;
	const BtrfsTreeItem *item;
	g_auto(Fd) changed = -1;

	range.tree = BTRFS_FS_TREE_OBJECTID;
	for (unsigned i = 0; i < 5000; i++) {
		g_autofree char *name = g_strdup_printf("%u", i);

		close(scratch_create(scratch, name, 0, 0));
	}
	flush(scratch);
	/* So that the files are not of the transaction that is asked for, at either end. */
	close(scratch_create(scratch, "one", 1, 0));
	flush(scratch);

	range.min_transid = read_info(scratch).generation;
	changed = openat(scratch->fd, "2500", O_RDWR | O_CLOEXEC);
	scratch_fill(changed, 0, 8 * KIB, 1);
	flush(scratch);

	btrfs_tree_start(tree, scratch->fd, &range);
	while ((item = next_item(tree))) {
		BtrfsInodeItem inode;

		n_new++;
		g_assert_cmpuint(item->transid, >=, range.min_transid);
		if (item->key.type != BTRFS_INODE_ITEM_KEY)
			continue;
		g_assert_true(btrfs_inode_item_read(item->data, item->length, &inode));
		if (inode.transid > range.min_transid) {
			g_assert_cmpuint(item->key.objectid, ==, inode_of(changed));
			n_changed++;
		}
	}
	g_assert_cmpuint(n_changed, ==, 1);

	range.min_transid = 0;
	btrfs_tree_start(tree, scratch->fd, &range);
	while (next_item(tree))
		n_all++;
	g_test_message("%u of %u items are in leaves that changed", n_new, n_all);
	g_assert_cmpuint(n_all, >, 20000);
	g_assert_cmpuint(n_new, <, n_all / 10);
}

/* The items of one type of one inode. */
static unsigned count_items(const Scratch *scratch, uint64_t inode, uint8_t type)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_FS_TREE_OBJECTID,
		.first = { inode, 0, 0 },
		.last = { inode, UINT8_MAX, UINT64_MAX },
		.types = { type },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	unsigned n_items = 0;

	btrfs_tree_start(tree, scratch->fd, &range);
	while (next_item(tree))
		n_items++;
	return n_items;
}

static BtrfsFileExtent first_extent(int fd)
{
	g_autoptr(BtrfsFileExtents) extents = btrfs_file_extents_new();
	g_autoptr(GError) error = NULL;
	const BtrfsFileExtent *extent;

	btrfs_file_extents_start(extents, fd, 0, inode_of(fd), 0, UINT64_MAX);
	g_assert_true(btrfs_file_extents_next(extents, &extent, &error));
	g_assert_no_error(error);
	g_assert_nonnull(extent);
	return *extent;
}

static BtrfsInodeItem read_inode(int fd)
{
	g_autoptr(GError) error = NULL;
	BtrfsInodeItem inode;
	bool is_found;

	g_assert_true(btrfs_inode_read(fd, 0, inode_of(fd), &inode, &is_found, &error));
	g_assert_no_error(error);
	g_assert_true(is_found);
	return inode;
}

/* What the extent tree says of the extent at @bytenr. */
static BtrfsExtentItem extent_at(const Scratch *scratch, uint64_t bytenr)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_EXTENT_TREE_OBJECTID,
		.first = { bytenr, BTRFS_EXTENT_ITEM_KEY, 0 },
		.last = { bytenr, BTRFS_EXTENT_ITEM_KEY, UINT64_MAX },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	const BtrfsTreeItem *item;
	BtrfsExtentItem extent;

	btrfs_tree_start(tree, scratch->fd, &range);
	item = next_item(tree);
	g_assert_nonnull(item);
	g_assert_true(btrfs_extent_item_read(item->data, item->length, &extent));
	/* They would outlive the tree. */
	extent.inline_refs = NULL;
	return extent;
}

static void test_what_was_only_reserved_has_sums_where_it_was_written(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 0, 0);
	g_autoptr(GHashTable) before = NULL;
	g_autoptr(GHashTable) after = NULL;
	BtrfsFileExtent reserved, written;

	g_assert_cmpint(fallocate(fd, 0, 0, MIB), ==, 0);
	flush(scratch);
	before = read_sums(scratch);
	reserved = first_extent(fd);
	g_assert_cmpint(reserved.kind, ==, BTRFS_FILE_EXTENT_IS_PREALLOC);
	g_assert_cmpuint(reserved.disk_bytes, ==, MIB);
	g_assert_null(sum_at(before, reserved.bytenr));

	scratch_fill(fd, 0, 256 * KIB, 1);
	flush(scratch);
	after = read_sums(scratch);
	written = first_extent(fd);
	g_assert_cmpint(written.kind, ==, BTRFS_FILE_EXTENT_IS_REGULAR);
	g_assert_cmpuint(written.bytenr, ==, reserved.bytenr);
	g_assert_cmpuint(written.disk_bytes, ==, MIB);
	g_assert_cmpuint(written.length, ==, 256 * KIB);
	/* The extent tree has not changed, but the file's item has. */
	g_assert_cmpuint(written.generation, >, reserved.generation);
	g_assert_cmpuint(extent_at(scratch, written.bytenr).generation, ==, reserved.generation);
	g_assert_cmpuint(count_sums(after, fd, MIB), ==, 256 * KIB / BLOCK_BYTES);
	g_assert_cmpuint(count_items(scratch, inode_of(fd), BTRFS_EXTENT_DATA_KEY), ==, 2);
}

static void test_a_few_bytes_lie_in_their_item_and_have_no_sum(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 100, 1);
	g_autoptr(GError) error = NULL;
	BtrfsFileExtent extent;

	flush(scratch);
	extent = first_extent(fd);
	g_assert_cmpint(extent.kind, ==, BTRFS_FILE_EXTENT_IS_INLINE);
	g_assert_cmpuint(extent.length, ==, 100);
	g_assert_cmpuint(extent.bytenr, ==, 0);
	g_assert_false(btrfs_file_extent_read(fd, inode_of(fd), 0, &extent, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
}

static void test_what_is_overwritten_in_place_has_no_sums(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) plain = scratch_create(scratch, "plain", MIB, 1);
	g_auto(Fd) fd = real_filesystem_create_no_cow(scratch, "no-cow", MIB, 1);
	g_autoptr(GHashTable) sums = NULL;

	flush(scratch);
	sums = read_sums(scratch);
	g_assert_true(read_inode(fd).is_no_sum);
	g_assert_true(read_inode(fd).is_no_cow);
	g_assert_cmpuint(count_sums(sums, fd, MIB), ==, 0);
	g_assert_false(read_inode(plain).is_no_sum);
	g_assert_false(read_inode(plain).is_no_cow);
	g_assert_cmpuint(count_sums(sums, plain, MIB), ==, MIB / BLOCK_BYTES);
}

static void test_an_inode_is_what_stat_says_of_it(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 100 * KIB, 1);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { INT64_C(-5), 7 } };
	BtrfsInodeItem inode;
	FileStat stat;
	int generation;

	g_assert_cmpint(futimens(fd, times), ==, 0);
	flush(scratch);
	inode = read_inode(fd);
	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	g_assert_cmpint(ioctl(fd, FS_IOC_GETVERSION, &generation), ==, 0);
	g_assert_cmpuint(inode.size_bytes, ==, stat.size_bytes);
	g_assert_cmpuint(inode.allocated_bytes, ==, 100 * KIB);
	g_assert_cmpuint(inode.nlink, ==, 1);
	g_assert_cmpuint(inode.mode, ==, stat.mode);
	g_assert_cmpint(inode.mtime_nsec, ==, stat.mtime_nsec);
	g_assert_cmpint(inode.ctime_nsec, ==, stat.ctime_nsec);
	g_assert_cmpint(inode.otime_nsec, ==, stat.btime_nsec);
	g_assert_cmpuint((uint32_t)inode.generation, ==, (uint32_t)generation);
}

static void test_an_inode_tells_its_names_until_it_has_none(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 1, 1);
	g_autoptr(BtrfsNames) names = btrfs_names_new(scratch->fd);
	g_autoptr(GError) error = NULL;
	const BtrfsName *name;

	flush(scratch);
	btrfs_names_start(names, 0, inode_of(fd));
	g_assert_true(btrfs_names_next(names, &name, &error));
	g_assert_no_error(error);
	g_assert_nonnull(name);
	g_assert_cmpstr(name->name, ==, "file");
	g_assert_cmpuint(name->directory, ==, inode_of(scratch->fd));

	g_assert_cmpint(unlinkat(scratch->fd, "file", 0), ==, 0);
	flush(scratch);
	btrfs_names_start(names, 0, inode_of(fd));
	g_assert_true(btrfs_names_next(names, &name, &error));
	g_assert_no_error(error);
	g_assert_null(name);
}

static void test_a_compressed_extent_is_wholly_known(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 0, 0);
	g_autofree char *text = g_strnfill(MIB, 'x');
	g_autoptr(GHashTable) sums = NULL;
	g_autoptr(GError) error = NULL;
	BtrfsFileExtent extent;

	g_assert_cmpint(fsetxattr(fd, "btrfs.compression", "zstd", 4, 0), ==, 0);
	g_assert_cmpint(pwrite(fd, text, MIB, 0), ==, (ssize_t)MIB);
	flush(scratch);
	sums = read_sums(scratch);
	g_assert_true(btrfs_file_extent_read(fd, inode_of(fd), 200 * KIB, &extent, &error));
	g_assert_no_error(error);
	g_assert_true(extent.is_encoded);
	g_assert_cmpuint(extent.logical, ==, 128 * KIB);
	g_assert_cmpuint(extent.ram_bytes, ==, 128 * KIB);
	g_assert_cmpuint(extent.disk_bytes, ==, 4 * KIB);
	g_assert_nonnull(sum_at(sums, extent.bytenr));
	g_assert_cmpuint(count_items(scratch, inode_of(fd), BTRFS_EXTENT_DATA_KEY), ==, 8);
}

static void test_an_extent_is_found_from_its_end(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 0, 0);
	BtrfsFileExtent extent = { 0 };
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(fallocate(fd, 0, 0, 64 * MIB), ==, 0);
	flush(scratch);
	g_assert_true(btrfs_file_extent_read(fd, inode_of(fd), 64 * MIB - 1, &extent, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(extent.logical + extent.length, ==, 64 * MIB);
	g_assert_cmpuint(extent.length, >, MIB);
	g_assert_false(btrfs_file_extent_read(fd, inode_of(fd), 64 * MIB, &extent, NULL));
}

static void test_the_generation_goes_on_when_something_is_written(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", MIB, 1);
	uint64_t before, after;

	flush(scratch);
	before = read_info(scratch).generation;
	flush(scratch);
	g_test_message("a flush with nothing to flush goes on by %" G_GUINT64_FORMAT,
		       read_info(scratch).generation - before);
	before = read_info(scratch).generation;
	scratch_fill(fd, 0, MIB, 2);
	flush(scratch);
	after = read_info(scratch).generation;
	g_assert_cmpuint(after, >, before);
	g_assert_cmpuint(read_inode(fd).transid, >, before);
	g_assert_cmpuint(read_inode(fd).transid, <=, after);
}

static void search_as_nobody(void *data)
{
	const Scratch *scratch = data;
	const BtrfsTreeRange range = { .tree = 2, .last = { 1, 0, 0 } };
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	g_autoptr(GError) error = NULL;
	const BtrfsTreeItem *item;
	BtrfsInfo info;

	scratch_become_nobody();
	btrfs_tree_start(tree, scratch->fd, &range);
	g_assert_false(btrfs_tree_next(tree, &item, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM);
	g_assert_true(btrfs_info_read(scratch->fd, &info, NULL));
}

static void test_trees_are_not_for_everyone(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	scratch_run_in_child(search_as_nobody, scratch);
}

static gpointer balance(gpointer data)
{
	const Scratch *scratch = data;
	struct btrfs_ioctl_balance_args arguments = { .flags = BTRFS_BALANCE_DATA };

	return GINT_TO_POINTER(ioctl(scratch->fd, BTRFS_IOC_BALANCE_V2, &arguments));
}

static bool is_balanced(const uint8_t uuid[FS_UUID_BYTES])
{
	FsLocation location = { .is_btrfs = true };
	DeviceHealth health;
	bool is_balanced;

	memcpy(location.fsid, uuid, FS_UUID_BYTES);
	device_health_read(disk_topology_system(), &location, &health);
	is_balanced = g_strcmp0(health.btrfs_work, "a balance of the btrfs") == 0;
	device_health_clear(&health);
	return is_balanced;
}

static void test_a_balance_is_an_exclusive_operation(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	BtrfsInfo info = read_info(scratch);
	int64_t end = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
	bool is_seen = false;

	close(scratch_create(scratch, "file", 40 * MIB, 1));
	flush(scratch);
	g_assert_false(is_balanced(info.uuid));
	while (!is_seen && g_get_monotonic_time() < end) {
		GThread *thread = g_thread_new("balance", balance, scratch);

		for (unsigned i = 0; i < 5000 && !is_seen; i++)
			is_seen = is_balanced(info.uuid);
		g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(thread)), ==, 0);
	}
	g_assert_true(is_seen);
	g_assert_false(is_balanced(info.uuid));
	info.uuid[0] ^= 1;
	g_assert_false(is_balanced(info.uuid));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (real_filesystem_kind() != FS_KIND_BTRFS || geteuid() != 0) {
		g_printerr("run this as root by tests/fs/kernel/on-filesystem btrfs\n");
		return 77;
	}

	g_test_add_func("/btrfs-trees/extents-and-sums-are-exactly-the-blocks-of-files",
			test_extents_and_sums_are_exactly_the_blocks_of_files);
	g_test_add_func("/btrfs-trees/sums-are-those-of-the-data", test_sums_are_those_of_the_data);
	g_test_add_func("/btrfs-trees/what-is-older-than-a-transaction-is-left-out",
			test_what_is_older_than_a_transaction_is_left_out);
	g_test_add_func("/btrfs-trees/what-was-only-reserved-has-sums-where-it-was-written",
			test_what_was_only_reserved_has_sums_where_it_was_written);
	g_test_add_func("/btrfs-trees/a-few-bytes-lie-in-their-item-and-have-no-sum",
			test_a_few_bytes_lie_in_their_item_and_have_no_sum);
	g_test_add_func("/btrfs-trees/what-is-overwritten-in-place-has-no-sums",
			test_what_is_overwritten_in_place_has_no_sums);
	g_test_add_func("/btrfs-trees/an-inode-is-what-stat-says-of-it",
			test_an_inode_is_what_stat_says_of_it);
	g_test_add_func("/btrfs-trees/an-inode-tells-its-names-until-it-has-none",
			test_an_inode_tells_its_names_until_it_has_none);
	g_test_add_func("/btrfs-trees/a-compressed-extent-is-wholly-known",
			test_a_compressed_extent_is_wholly_known);
	g_test_add_func("/btrfs-trees/an-extent-is-found-from-its-end",
			test_an_extent_is_found_from_its_end);
	g_test_add_func("/btrfs-trees/the-generation-goes-on-when-something-is-written",
			test_the_generation_goes_on_when_something_is_written);
	g_test_add_func("/btrfs-trees/trees-are-not-for-everyone", test_trees_are_not_for_everyone);
	g_test_add_func("/btrfs-trees/a-balance-is-an-exclusive-operation",
			test_a_balance_is_an_exclusive_operation);

	return g_test_run();
}
