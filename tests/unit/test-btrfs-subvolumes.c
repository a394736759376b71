/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

#include "kernel-ioctl/btrfs/btrfs-inode.h"
#include "tests/unit/fake-btrfs.h"

#include <errno.h>

static const struct btrfs_root_item living = {
	.generation = GUINT64_TO_LE(UINT64_C(20)),
	.generation_v2 = GUINT64_TO_LE(UINT64_C(20)),
	.otransid = GUINT64_TO_LE(UINT64_C(15)),
	.flags = GUINT64_TO_LE(UINT64_C(1)),
	.refs = GUINT32_TO_LE(1u),
	.uuid = { 7 },
};
static const struct btrfs_root_item dying = { .generation = GUINT64_TO_LE(UINT64_C(9)) };
static const struct btrfs_inode_item inode = { .generation = GUINT64_TO_LE(UINT64_C(8)) };

#define ROOT(id, offset, item)                                                                     \
	{                                                                                          \
		1, { id, BTRFS_ROOT_ITEM_KEY, offset }, &item, sizeof(item), 1                     \
	}
#define BACKREF(child, parent)                                                                     \
	{                                                                                          \
		1, { child, BTRFS_ROOT_BACKREF_KEY, parent }, NULL, 0, 1                           \
	}

static void kernel_set(const FakeItem *items, size_t n_items)
{
	*fake_btrfs() = (FakeBtrfs){ .items = items, .n_items = n_items };
}

static void test_subvolumes_are_listed_with_what_they_lie_in(void)
{
	static const FakeItem items[] = {
		ROOT(2, 0, living),     ROOT(5, 0, living), ROOT(7, 0, living),
		ROOT(256, 0, living),   BACKREF(256, 5),    ROOT(258, 18, dying),
		ROOT(300, 0, living),   BACKREF(300, 256),  BACKREF(301, 256),
		ROOT(-9ULL, 0, living),
	};
	static const struct {
		uint64_t id;
		uint64_t parent_id;
		bool is_dead;
	} expected[] = {
		{ 5, 0, false },
		{ 256, 5, false },
		{ 258, 0, true },
		{ 300, 256, false },
	};
	g_autoptr(GArray) subvolumes = NULL;
	g_autoptr(GError) error = NULL;

	kernel_set(items, G_N_ELEMENTS(items));
	g_assert_true(btrfs_subvolumes_read(FAKE_BTRFS_FD, &subvolumes, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(subvolumes->len, ==, G_N_ELEMENTS(expected));
	for (size_t i = 0; i < subvolumes->len; i++) {
		BtrfsSubvolume *subvolume = &g_array_index(subvolumes, BtrfsSubvolume, i);

		g_assert_cmpuint(subvolume->id, ==, expected[i].id);
		g_assert_cmpuint(subvolume->parent_id, ==, expected[i].parent_id);
		g_assert_cmpint(subvolume->is_dead, ==, expected[i].is_dead);
		g_assert_cmpint(subvolume->is_read_only, ==, !expected[i].is_dead);
		g_assert_cmpuint(subvolume->generation, ==, expected[i].is_dead ? 9 : 20);
	}
}

static void test_a_subvolume_is_found_by_its_id(void)
{
	static const FakeItem items[] = {
		ROOT(5, 0, living),
		ROOT(256, 0, living),
		ROOT(258, 18, dying),
		ROOT(300, 0, living),
	};
	static const uint64_t missing[] = { 0, 6, 257, 299, 301, UINT64_MAX };
	g_autoptr(GArray) none = g_array_new(false, false, sizeof(BtrfsSubvolume));
	g_autoptr(GArray) subvolumes = NULL;

	kernel_set(items, G_N_ELEMENTS(items));
	g_assert_true(btrfs_subvolumes_read(FAKE_BTRFS_FD, &subvolumes, NULL));
	for (guint i = 0; i < subvolumes->len; i++) {
		const BtrfsSubvolume *one = &g_array_index(subvolumes, BtrfsSubvolume, i);

		g_assert_true(btrfs_subvolumes_find(subvolumes, one->id) == one);
		g_assert_null(btrfs_subvolumes_find(none, one->id));
	}
	for (size_t i = 0; i < G_N_ELEMENTS(missing); i++)
		g_assert_null(btrfs_subvolumes_find(subvolumes, missing[i]));
}

static void test_a_damaged_root_is_an_error(void)
{
	static const FakeItem item = { 1, { 256, BTRFS_ROOT_ITEM_KEY, 0 }, &living, 100, 1 };
	g_autoptr(GArray) subvolumes = NULL;
	g_autoptr(GError) error = NULL;

	kernel_set(&item, 1);
	g_assert_false(btrfs_subvolumes_read(FAKE_BTRFS_FD, &subvolumes, &error));
	g_assert_cmpstr(error->message, ==,
			"cannot list the subvolumes of the btrfs: the item of 256 is damaged");
	g_assert_null(subvolumes);
}

static bool read_inode(uint64_t root, uint64_t number, bool *ret_found, GError **error)
{
	BtrfsInodeItem item = { 0 };

	if (!btrfs_inode_read(FAKE_BTRFS_FD, root, number, &item, ret_found, error))
		return false;
	g_assert_cmpuint(item.generation, ==, *ret_found ? 8 : 0);
	return true;
}

static void test_an_inode_is_found_or_not(void)
{
	static const FakeItem items[] = {
		{ 256, { 300, BTRFS_INODE_ITEM_KEY, 0 }, &inode, sizeof(inode), 1 },
		{ 256, { 301, BTRFS_INODE_ITEM_KEY, 0 }, &inode, 12, 1 },
		{ 256, { 302, BTRFS_INODE_REF_KEY, 0 }, &inode, sizeof(inode), 1 },
	};
	g_autoptr(GError) error = NULL;
	bool is_found = false;

	kernel_set(items, G_N_ELEMENTS(items));
	g_assert_true(read_inode(256, 300, &is_found, NULL));
	g_assert_true(is_found);
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 1);
	g_assert_true(read_inode(256, 302, &is_found, NULL));
	g_assert_false(is_found);
	g_assert_true(read_inode(257, 300, &is_found, NULL));
	g_assert_false(is_found);
	g_assert_false(read_inode(256, 301, &is_found, &error));
	g_assert_cmpstr(error->message, ==,
			"cannot read inode 301 of subvolume 256: its item is damaged");
}

static void test_an_inode_of_a_subvolume_that_has_gone_is_not_found(void)
{
	g_autoptr(GError) error = NULL;
	bool is_found = true;

	kernel_set(NULL, 0);
	fake_btrfs()->error = ENOENT;
	g_assert_true(read_inode(256, 300, &is_found, NULL));
	g_assert_false(is_found);
	fake_btrfs()->error = EPERM;
	g_assert_false(read_inode(256, 300, &is_found, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/btrfs-subvolumes/subvolumes-are-listed-with-what-they-lie-in",
			test_subvolumes_are_listed_with_what_they_lie_in);
	g_test_add_func("/btrfs-subvolumes/a-subvolume-is-found-by-its-id",
			test_a_subvolume_is_found_by_its_id);
	g_test_add_func("/btrfs-subvolumes/a-damaged-root-is-an-error",
			test_a_damaged_root_is_an_error);
	g_test_add_func("/btrfs-subvolumes/an-inode-is-found-or-not",
			test_an_inode_is_found_or_not);
	g_test_add_func("/btrfs-subvolumes/an-inode-of-a-subvolume-that-has-gone-is-not-found",
			test_an_inode_of_a_subvolume_that_has_gone_is_not_found);

	return g_test_run();
}
