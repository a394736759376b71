/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-named-refs.h"

#include "tests/unit/fake-btrfs.h"

#include <linux/btrfs_tree.h>

/* Items as a kernel in order does not write them; tests/fs/kernel has those of a real one. */

#define BYTENR (UINT64_C(1) << 20)
#define BYTES  UINT64_C(4096)

#define U64(low)            low "\0\0\0\0\0\0\0"
#define DATA                U64("\x01")
#define TREE_BLOCK          U64("\x02")
#define EXTENT(refs, flags) U64(refs) U64("\x2a") flags
/* The tree 5, its inode and offset 0, counted once. */
#define FILE_REF(inode)    U64("\x05") U64(inode) U64("\0") "\x01\0\0\0"
#define INLINE_FILE(inode) "\xb2" FILE_REF(inode)
#define INLINE_LEAF        "\xb8" U64("\x07") "\x01\0\0\0"
#define INLINE_OWNER       "\xac" U64("\x09")
#define INLINE_UNKNOWN     "\xff" U64("\x07")

#define ITEM(type, offset, text)                                                                   \
	{                                                                                          \
		BTRFS_EXTENT_TREE_OBJECTID, { BYTENR, type, offset }, text, sizeof(text) - 1, 1    \
	}
#define EXTENT_ITEM(text) ITEM(BTRFS_EXTENT_ITEM_KEY, BYTES, text)

static const struct {
	const char *what;
	FakeItem items[2];
	guint n_refs;
	bool is_all, has_leaves;
	uint64_t generation, owner;
} cases[] = {
	{ "files inline",
	  { EXTENT_ITEM(EXTENT("\x02", DATA) INLINE_FILE("\x0a") INLINE_FILE("\x0b")) },
	  2,
	  true,
	  false,
	  42,
	  0 },
	{ "a leaf, and an owner before it",
	  { EXTENT_ITEM(EXTENT("\x02", DATA) INLINE_OWNER INLINE_FILE("\x0a") INLINE_LEAF) },
	  1,
	  true,
	  true,
	  42,
	  9 },
	{ "one inline, one an item of its own",
	  { EXTENT_ITEM(EXTENT("\x02", DATA) INLINE_FILE("\x0a")),
	    ITEM(BTRFS_EXTENT_DATA_REF_KEY, 3, FILE_REF("\x0b")) },
	  2,
	  true,
	  false,
	  42,
	  0 },
	{ "an unknown type behind a file",
	  { EXTENT_ITEM(EXTENT("\x02", DATA) INLINE_FILE("\x0a") INLINE_UNKNOWN) },
	  1,
	  false,
	  false,
	  42,
	  0 },
	{ "an unknown type and nothing else",
	  { EXTENT_ITEM(EXTENT("\x01", DATA) INLINE_UNKNOWN) },
	  0,
	  false,
	  false,
	  42,
	  0 },
	{ "a reference that is cut off",
	  { EXTENT_ITEM(EXTENT("\x02", DATA) INLINE_FILE("\x0a") "\xb2\x05\0") },
	  1,
	  false,
	  false,
	  42,
	  0 },
	{ "a tree block", { EXTENT_ITEM(EXTENT("\x01", TREE_BLOCK)) }, 0, false, false, 0, 0 },
	{ "an item that is cut off", { EXTENT_ITEM(U64("\x01")) }, 0, false, false, 0, 0 },
};

static void kernel_set(const FakeItem *items)
{
	*fake_btrfs() = (FakeBtrfs){ .items = items, .n_items = items[1].length ? 2 : 1 };
}

static void test_a_damaged_item_does_not_name_all(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(GArray) refs = NULL;
		BtrfsNamedRefs named;

		g_test_message("%s", cases[i].what);
		kernel_set(cases[i].items);
		g_assert_true(
			btrfs_named_refs_read(FAKE_BTRFS_FD, BYTENR, BYTES, 8, &named, &error));
		g_assert_no_error(error);
		refs = named.refs;
		g_assert_cmpuint(refs->len, ==, cases[i].n_refs);
		for (guint k = 0; k < refs->len; k++) {
			g_assert_cmpuint(g_array_index(refs, BtrfsExtentRef, k).root, ==, 5);
			g_assert_cmpuint(g_array_index(refs, BtrfsExtentRef, k).inode, ==, 10 + k);
		}
		g_assert_true(named.is_all == cases[i].is_all);
		g_assert_true(named.has_leaves == cases[i].has_leaves);
		g_assert_cmpuint(named.generation, ==, cases[i].generation);
	}
}

static void test_only_an_owner_record_names_the_owner(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		uint64_t owner = 1;

		g_test_message("%s", cases[i].what);
		kernel_set(cases[i].items);
		g_assert_true(btrfs_owner_read(FAKE_BTRFS_FD, BYTENR, BYTES, &owner, &error));
		g_assert_no_error(error);
		g_assert_cmpuint(owner, ==, cases[i].owner);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/btrfs-named-items/a-damaged-item-does-not-name-all",
			test_a_damaged_item_does_not_name_all);
	g_test_add_func("/btrfs-named-items/only-an-owner-record-names-the-owner",
			test_only_an_owner_record_names_the_owner);

	return g_test_run();
}
