/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-item-windows.h"

#include "tests/unit/fake-btrfs.h"

#include <errno.h>

#define ROOT   UINT64_C(256)
#define OTHER  UINT64_C(257)
#define INODES 40

/* Two subvolumes with files of an inode and an extent each. */
static FakeItem items[2 * 2 * INODES];

static void kernel_set(void)
{
	size_t n = 0;

	for (uint64_t root = ROOT; root <= OTHER; root++)
		for (uint64_t inode = 0; inode < INODES; inode++) {
			items[n++] = (FakeItem){
				root, { 300 + inode, BTRFS_INODE_ITEM_KEY, 0 }, "inode", 5, root
			};
			items[n++] = (FakeItem){ root,
						 { 300 + inode, BTRFS_EXTENT_DATA_KEY, 0 },
						 "extent",
						 6,
						 root + inode };
		}

	*fake_btrfs() = (FakeBtrfs){ .items = items, .n_items = n };
}

static bool find(BtrfsItemWindows *windows, uint64_t root, BtrfsKey key, BtrfsTreeItem *ret)
{
	g_autoptr(GError) error = NULL;
	bool is_found;

	g_assert_true(btrfs_item_windows_find(windows, root, &key, ret, &is_found, &error));
	g_assert_no_error(error);
	return is_found;
}

static void test_neighbours_are_found_without_asking(void)
{
	g_autoptr(BtrfsItemWindows) windows = btrfs_item_windows_new(FAKE_BTRFS_FD);
	BtrfsTreeItem item;

	kernel_set();
	for (uint64_t inode = 300; inode < 300 + INODES; inode++) {
		g_assert_true(
			find(windows, ROOT, (BtrfsKey){ inode, BTRFS_EXTENT_DATA_KEY, 0 }, &item));
		g_assert_cmpmem(item.data, item.length, "extent", 6);
		g_assert_cmpuint(item.transid, ==, ROOT + inode - 300);
		g_assert_true(
			find(windows, ROOT, (BtrfsKey){ inode, BTRFS_INODE_ITEM_KEY, 0 }, &item));
		g_assert_cmpmem(item.data, item.length, "inode", 5);
	}
	/* 8, 16, 32 and 64 items. */
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 4);
}

static void test_files_out_of_order_cost_few_items(void)
{
	g_autoptr(BtrfsItemWindows) windows = btrfs_item_windows_new(FAKE_BTRFS_FD);
	BtrfsTreeItem item;

	kernel_set();
	for (uint64_t inode = 300 + INODES; inode-- > 300;) {
		g_assert_true(
			find(windows, ROOT, (BtrfsKey){ inode, BTRFS_INODE_ITEM_KEY, 0 }, &item));
		g_assert_cmpuint(fake_btrfs()->asked_items, ==, 8);
	}
}

static void test_subvolumes_are_told_apart(void)
{
	g_autoptr(BtrfsItemWindows) windows = btrfs_item_windows_new(FAKE_BTRFS_FD);
	BtrfsTreeItem item;

	kernel_set();
	g_assert_true(find(windows, ROOT, (BtrfsKey){ 301, BTRFS_INODE_ITEM_KEY, 0 }, &item));
	g_assert_cmpuint(item.transid, ==, ROOT);
	g_assert_true(find(windows, OTHER, (BtrfsKey){ 301, BTRFS_INODE_ITEM_KEY, 0 }, &item));
	g_assert_cmpuint(item.transid, ==, OTHER);
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 2);
}

static void test_after_a_change_items_are_read_anew(void)
{
	g_autoptr(BtrfsItemWindows) windows = btrfs_item_windows_new(FAKE_BTRFS_FD);
	BtrfsKey key = { 301, BTRFS_EXTENT_DATA_KEY, 0 };
	BtrfsTreeItem item;

	kernel_set();
	g_assert_true(find(windows, ROOT, key, &item));
	items[3].data = "other!";
	btrfs_item_windows_clear(windows);
	g_assert_true(find(windows, ROOT, key, &item));
	g_assert_cmpmem(item.data, item.length, "other!", 6);
}

static void test_what_is_not_there_is_not_found(void)
{
	g_autoptr(BtrfsItemWindows) windows = btrfs_item_windows_new(FAKE_BTRFS_FD);
	g_autoptr(GError) error = NULL;
	BtrfsKey key = { 299, BTRFS_INODE_ITEM_KEY, 0 };
	BtrfsTreeItem item;
	bool is_found;

	kernel_set();
	g_assert_false(find(windows, ROOT, key, &item));
	g_assert_false(find(windows, ROOT, (BtrfsKey){ 300, BTRFS_EXTENT_DATA_KEY, 4096 }, &item));

	fake_btrfs()->error = ENOENT;
	g_assert_false(btrfs_item_windows_find(windows, ROOT, &key, &item, &is_found, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
}

int main(int argc, char *argv[])
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/btrfs-item-windows/neighbours-are-found-without-asking",
			test_neighbours_are_found_without_asking);
	g_test_add_func("/btrfs-item-windows/files-out-of-order-cost-few-items",
			test_files_out_of_order_cost_few_items);
	g_test_add_func("/btrfs-item-windows/subvolumes-are-told-apart",
			test_subvolumes_are_told_apart);
	g_test_add_func("/btrfs-item-windows/after-a-change-items-are-read-anew",
			test_after_a_change_items_are_read_anew);
	g_test_add_func("/btrfs-item-windows/what-is-not-there-is-not-found",
			test_what_is_not_there_is_not_found);
	return g_test_run();
}
