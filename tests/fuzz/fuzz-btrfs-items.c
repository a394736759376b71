/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "tests/fuzz/fuzz.h"

#include <glib.h>
#include <linux/btrfs_tree.h>

#define EIGHT      "12345678"
#define THIRTY_TWO EIGHT EIGHT EIGHT EIGHT
#define FILE_REF   "\xb2" EIGHT EIGHT EIGHT "1234"
#define LEAF_REF   "\xb8" EIGHT "1234"
#define OWNER      "\xac" EIGHT
#define BIG        THIRTY_TWO THIRTY_TWO THIRTY_TWO THIRTY_TWO THIRTY_TWO
#define EXTENT_FLAGS                                                                               \
	"\x01"                                                                                     \
	"2345678"

const char *const fuzz_seeds[] = {
	/* The first byte says what of. */
	"e" EIGHT EIGHT EXTENT_FLAGS OWNER FILE_REF LEAF_REF FILE_REF,
	"e" EIGHT EIGHT EXTENT_FLAGS LEAF_REF LEAF_REF "\xc7" EIGHT,
	"e" EIGHT EIGHT "2"
	"2345678" EIGHT EIGHT,
	FILE_REF,
	LEAF_REF,
	"c\x04" EIGHT EIGHT,
	"c " THIRTY_TWO,
	"f" EIGHT EIGHT "\x01\x01\x01\x01\x01" EIGHT EIGHT EIGHT EIGHT,
	"f" EIGHT EIGHT "\x03\x01\x01\x01\x02" EIGHT EIGHT EIGHT EIGHT,
	"i" BIG,
	"r" BIG BIG THIRTY_TWO THIRTY_TWO THIRTY_TWO EIGHT EIGHT EIGHT,
	"n" EIGHT EIGHT "\x04\x01name",
	"p" EIGHT "\x04\x01name" EIGHT "\x01\x01" THIRTY_TWO,
	"x" EIGHT EIGHT "\x04\x01name" EIGHT EIGHT "\x01\x01" THIRTY_TWO,
	NULL,
};

/* Every reference lies in the item, and none is returned twice. */
static void try_extent(const uint8_t *data, uint32_t length)
{
	const BtrfsExtentRef *ref;
	BtrfsExtentItem item;
	BtrfsExtentRefs refs;
	uint32_t n_left;

	if (!btrfs_extent_item_read(data, length, &item) || !item.is_data)
		return;
	g_assert_true(item.inline_refs + item.inline_refs_bytes == data + length);

	btrfs_extent_refs_start(&refs, &item);
	for (;;) {
		n_left = refs.n_left;
		if (!btrfs_extent_refs_next(&refs, &ref) || !ref)
			break;
		g_assert_cmpuint(refs.n_left, <, n_left);
		g_assert_true(refs.next + refs.n_left == data + length);
		/* Of each kind the other's fields are empty. */
		if (ref->kind == BTRFS_EXTENT_REF_FILE)
			g_assert_cmpuint(ref->parent, ==, 0);
		else
			g_assert_cmpuint(ref->root | ref->inode | ref->offset, ==, 0);
	}
}

static void try_sums(const uint8_t *data, uint32_t length)
{
	BtrfsCsumItem item;

	if (length == 0 || !btrfs_csum_item_read(data + 1, length - 1, *data, &item))
		return;
	g_assert_cmpuint(item.n_sums, >, 0);
	g_assert_cmpuint(item.n_sums * *data, ==, length - 1);
}

static void try_file_extent(const uint8_t *data, uint32_t length)
{
	BtrfsFileExtentItem item;

	if (!btrfs_file_extent_item_read(data, length, &item))
		return;
	if (item.kind == BTRFS_FILE_EXTENT_IS_INLINE)
		g_assert_cmpuint(item.bytenr | item.disk_bytes | item.offset, ==, 0);
	else
		g_assert_cmpuint(item.offset + item.length, >=, item.offset);
}

static void try_root_ref(const uint8_t *data, uint32_t length)
{
	BtrfsRootRef ref;

	if (btrfs_root_ref_read(data, length, &ref))
		g_assert_true(ref.name + ref.name_bytes <= data + length);
}

/* Every name lies in the item, and none is returned twice. */
static void try_names(uint8_t type, const uint8_t *data, uint32_t length)
{
	const BtrfsInodeName *ref;
	BtrfsInodeNames refs;

	btrfs_inode_names_start(&refs, type, length, data, length);
	while (btrfs_inode_names_next(&refs, &ref) && ref) {
		g_assert_cmpuint(ref->name_bytes, >, 0);
		g_assert_true(ref->name + ref->name_bytes == refs.next);
		g_assert_true(refs.next + refs.n_left == data + length);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const uint8_t *data;
	uint32_t length;
	BtrfsExtentRef ref;
	BtrfsInodeItem inode;
	BtrfsRootItem root;

	if (size == 0)
		return 0;

	data = bytes + 1;
	length = (uint32_t)size - 1;
	switch (*bytes) {
	case 'e':
		try_extent(data, length);
		break;
	case 'c':
		try_sums(data, length);
		break;
	case 'f':
		try_file_extent(data, length);
		break;
	case 'i':
		if (btrfs_inode_item_read(data, length, &inode) && inode.is_no_cow)
			g_assert_cmpuint(length, >=, 160);
		break;
	case 'r':
		if (btrfs_root_item_read(data, length, &root) && root.refs == 0)
			g_assert_true(root.is_dead);
		break;
	case 'n':
		try_root_ref(data, length);
		break;
	case 'p':
		try_names(BTRFS_INODE_REF_KEY, data, length);
		break;
	case 'x':
		try_names(BTRFS_INODE_EXTREF_KEY, data, length);
		break;
	default:
		if (btrfs_extent_ref_item_read(*bytes, length, data, length, &ref))
			g_assert_true(ref.kind == BTRFS_EXTENT_REF_FILE || ref.parent == length);
	}
	return 0;
}
