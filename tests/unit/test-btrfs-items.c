/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-items.h"

#include <glib.h>
#include <linux/btrfs_tree.h>
#include <stddef.h>
#include <string.h>

#define EXTENT_BYTES   24
#define FILE_REF_BYTES 29
#define LEAF_REF_BYTES 13
#define OWNER_BYTES    9

/* Append the lower @n bytes of @value, lowest first. */
static void put(GByteArray *bytes, uint64_t value, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint8_t byte = i < sizeof(value) ? (uint8_t)(value >> 8 * i) : 0;

		g_byte_array_append(bytes, &byte, 1);
	}
}

/* Copy the bytes to an allocation of that size, so that reads behind them are detected. */
static uint8_t *exactly(const GByteArray *bytes, uint32_t length)
{
	uint8_t *copy = g_malloc(MAX(length, 1));

	memcpy(copy, bytes->data, length);
	return copy;
}

static GByteArray *make_extent(uint64_t flags)
{
	GByteArray *bytes = g_byte_array_new();

	put(bytes, 3, 8);
	put(bytes, 0x1122334455667788, 8);
	put(bytes, flags, 8);
	return bytes;
}

static void put_file_ref(GByteArray *bytes)
{
	put(bytes, BTRFS_EXTENT_DATA_REF_KEY, 1);
	put(bytes, 5, 8);
	put(bytes, 257, 8);
	put(bytes, (uint64_t)-4096, 8);
	put(bytes, 2, 4);
}

static void put_leaf_ref(GByteArray *bytes)
{
	put(bytes, BTRFS_SHARED_DATA_REF_KEY, 1);
	put(bytes, 0x40000, 8);
	put(bytes, 7, 4);
}

static void put_owner(GByteArray *bytes)
{
	put(bytes, 172, 1);
	put(bytes, 5, 8);
}

static void test_a_data_extent_has_references(void)
{
	g_autoptr(GByteArray) bytes = make_extent(1);
	const BtrfsExtentRef *ref;
	BtrfsExtentItem item;
	BtrfsExtentRefs refs;

	put_owner(bytes);
	put_file_ref(bytes);
	put_leaf_ref(bytes);
	g_assert_true(btrfs_extent_item_read(bytes->data, bytes->len, &item));
	g_assert_cmpuint(item.refs, ==, 3);
	g_assert_cmpuint(item.generation, ==, 0x1122334455667788);
	g_assert_true(item.is_data);

	btrfs_extent_refs_start(&refs, &item);
	g_assert_true(btrfs_extent_refs_next(&refs, &ref));
	g_assert_cmpint(ref->kind, ==, BTRFS_EXTENT_REF_FILE);
	g_assert_cmpuint(ref->root, ==, 5);
	g_assert_cmpuint(ref->inode, ==, 257);
	g_assert_cmpuint(ref->offset, ==, (uint64_t)-4096);
	g_assert_cmpuint(ref->count, ==, 2);
	g_assert_true(btrfs_extent_refs_next(&refs, &ref));
	g_assert_cmpint(ref->kind, ==, BTRFS_EXTENT_REF_LEAF);
	g_assert_cmpuint(ref->parent, ==, 0x40000);
	g_assert_cmpuint(ref->count, ==, 7);
	g_assert_true(btrfs_extent_refs_next(&refs, &ref));
	g_assert_null(ref);
}

static void test_a_tree_block_has_no_data_references(void)
{
	g_autoptr(GByteArray) bytes = make_extent(2 | 1 << 8);
	const BtrfsExtentRef *ref;
	BtrfsExtentItem item;
	BtrfsExtentRefs refs;

	put(bytes, 0, 18);
	g_assert_true(btrfs_extent_item_read(bytes->data, bytes->len, &item));
	g_assert_false(item.is_data);
	btrfs_extent_refs_start(&refs, &item);
	g_assert_true(btrfs_extent_refs_next(&refs, &ref));
	g_assert_null(ref);
}

static void test_an_extent_of_no_kind_or_both_is_refused(void)
{
	for (uint64_t flags = 0; flags <= 3; flags += 3) {
		g_autoptr(GByteArray) bytes = make_extent(flags);
		BtrfsExtentItem item;

		g_assert_false(btrfs_extent_item_read(bytes->data, bytes->len, &item));
	}
}

/* True if the references of an extent item cut to @length can be read to their end; counts them. */
static bool count_refs(const GByteArray *bytes, uint32_t length, unsigned *ret_n)
{
	g_autofree uint8_t *cut = exactly(bytes, length);
	const BtrfsExtentRef *ref;
	BtrfsExtentItem item;
	BtrfsExtentRefs refs;

	*ret_n = 0;
	if (!btrfs_extent_item_read(cut, length, &item))
		return false;
	btrfs_extent_refs_start(&refs, &item);
	for (;;) {
		if (!btrfs_extent_refs_next(&refs, &ref))
			return false;
		if (!ref)
			return true;
		(*ret_n)++;
	}
}

static void test_references_that_are_cut_short_are_refused(void)
{
	const uint32_t ends[] = {
		EXTENT_BYTES,
		EXTENT_BYTES + OWNER_BYTES,
		EXTENT_BYTES + OWNER_BYTES + FILE_REF_BYTES,
		EXTENT_BYTES + OWNER_BYTES + FILE_REF_BYTES + LEAF_REF_BYTES,
	};
	const unsigned counts[] = { 0, 0, 1, 2 };
	g_autoptr(GByteArray) bytes = make_extent(1);
	size_t n_whole = 0;

	put_owner(bytes);
	put_file_ref(bytes);
	put_leaf_ref(bytes);
	g_assert_cmpuint(bytes->len, ==, ends[3]);
	for (uint32_t length = 0; length <= bytes->len; length++) {
		bool is_whole = length == ends[n_whole];
		unsigned n;

		g_assert_cmpint(count_refs(bytes, length, &n), ==, is_whole);
		if (is_whole)
			g_assert_cmpuint(n, ==, counts[n_whole++]);
	}
}

static void test_a_reference_of_unknown_type_is_refused(void)
{
	g_autoptr(GByteArray) bytes = make_extent(1);
	unsigned n;

	put_file_ref(bytes);
	put(bytes, 199, 1);
	put(bytes, 0, 40);
	g_assert_false(count_refs(bytes, bytes->len, &n));
	g_assert_cmpuint(n, ==, 1);
}

static void test_a_reference_can_be_an_item_of_its_own(void)
{
	g_autoptr(GByteArray) file = g_byte_array_new();
	g_autoptr(GByteArray) leaf = g_byte_array_new();
	BtrfsExtentRef ref;

	put_file_ref(file);
	put(leaf, 9, 4);
	g_assert_true(btrfs_extent_ref_item_read(BTRFS_EXTENT_DATA_REF_KEY, 1234, file->data + 1,
						 file->len - 1, &ref));
	g_assert_cmpint(ref.kind, ==, BTRFS_EXTENT_REF_FILE);
	g_assert_cmpuint(ref.inode, ==, 257);
	g_assert_true(btrfs_extent_ref_item_read(BTRFS_SHARED_DATA_REF_KEY, 1234, leaf->data,
						 leaf->len, &ref));
	g_assert_cmpint(ref.kind, ==, BTRFS_EXTENT_REF_LEAF);
	g_assert_cmpuint(ref.parent, ==, 1234);
	g_assert_cmpuint(ref.count, ==, 9);

	g_assert_false(btrfs_extent_ref_item_read(BTRFS_EXTENT_DATA_REF_KEY, 0, file->data + 1,
						  file->len - 2, &ref));
	g_assert_false(btrfs_extent_ref_item_read(BTRFS_SHARED_DATA_REF_KEY, 0, leaf->data,
						  leaf->len - 1, &ref));
	g_assert_false(
		btrfs_extent_ref_item_read(BTRFS_EXTENT_ITEM_KEY, 0, file->data, file->len, &ref));
}

static void test_checksums_are_counted_by_their_size(void)
{
	static const struct {
		uint32_t length;
		uint32_t sum_bytes;
		uint32_t n_sums;
	} cases[] = {
		{ 4, 4, 1 },   { 16228, 4, 4057 }, { 64, 32, 2 }, { 0, 4, 0 },
		{ 63, 32, 0 }, { 6, 4, 0 },        { 8, 0, 0 },
	};
	g_autofree uint8_t *data = g_malloc0(20000);

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		BtrfsCsumItem item = { 0 };

		g_assert_cmpint(
			btrfs_csum_item_read(data, cases[i].length, cases[i].sum_bytes, &item), ==,
			cases[i].n_sums > 0);
		if (cases[i].n_sums == 0)
			continue;
		g_assert_cmpuint(item.n_sums, ==, cases[i].n_sums);
		g_assert_true(item.sums == data);
	}
}

static GByteArray *make_file_extent(uint8_t type, uint8_t compression)
{
	GByteArray *bytes = g_byte_array_new();

	put(bytes, 99, 8);
	put(bytes, 131072, 8);
	put(bytes, compression, 1);
	put(bytes, 0, 3);
	put(bytes, type, 1);
	put(bytes, 0x12345678000, 8);
	put(bytes, 8192, 8);
	put(bytes, 4096, 8);
	put(bytes, 65536, 8);
	return bytes;
}

static void test_an_extent_of_a_file_is_read(void)
{
	g_autoptr(GByteArray) bytes = make_file_extent(BTRFS_FILE_EXTENT_REG, 3);
	BtrfsFileExtentItem item;

	g_assert_true(btrfs_file_extent_item_read(bytes->data, bytes->len, &item));
	g_assert_cmpint(item.kind, ==, BTRFS_FILE_EXTENT_IS_REGULAR);
	g_assert_cmpuint(item.generation, ==, 99);
	g_assert_true(item.is_encoded);
	g_assert_cmpuint(item.compression, ==, 3);
	g_assert_cmpuint(item.bytenr, ==, 0x12345678000);
	g_assert_cmpuint(item.disk_bytes, ==, 8192);
	g_assert_cmpuint(item.ram_bytes, ==, 131072);
	g_assert_cmpuint(item.offset, ==, 4096);
	g_assert_cmpuint(item.length, ==, 65536);

	bytes->data[20] = BTRFS_FILE_EXTENT_PREALLOC;
	bytes->data[16] = 0;
	g_assert_true(btrfs_file_extent_item_read(bytes->data, bytes->len, &item));
	g_assert_cmpint(item.kind, ==, BTRFS_FILE_EXTENT_IS_PREALLOC);
	g_assert_false(item.is_encoded);
	bytes->data[17] = 1;
	g_assert_true(btrfs_file_extent_item_read(bytes->data, bytes->len, &item));
	g_assert_true(item.is_encoded);
}

static void test_an_inline_extent_has_no_place(void)
{
	g_autoptr(GByteArray) bytes = make_file_extent(BTRFS_FILE_EXTENT_INLINE, 0);

	for (uint32_t length = 21; length <= bytes->len; length++) {
		g_autofree uint8_t *cut = exactly(bytes, length);
		BtrfsFileExtentItem item;

		g_assert_true(btrfs_file_extent_item_read(cut, length, &item));
		g_assert_cmpint(item.kind, ==, BTRFS_FILE_EXTENT_IS_INLINE);
		g_assert_cmpuint(item.bytenr, ==, 0);
		g_assert_cmpuint(item.disk_bytes, ==, 0);
		g_assert_cmpuint(item.length, ==, 131072);
	}
}

static void test_an_extent_of_a_file_that_cannot_be_is_refused(void)
{
	g_autoptr(GByteArray) bytes = make_file_extent(BTRFS_FILE_EXTENT_REG, 0);
	BtrfsFileExtentItem item;

	for (uint32_t length = 0; length < bytes->len; length++) {
		g_autofree uint8_t *cut = exactly(bytes, length);

		g_assert_false(btrfs_file_extent_item_read(cut, length, &item));
	}
	memset(bytes->data + 37, 0xff, 8);
	g_assert_false(btrfs_file_extent_item_read(bytes->data, bytes->len, &item));
	bytes->data[20] = 3;
	g_assert_false(btrfs_file_extent_item_read(bytes->data, bytes->len, &item));
}

static void test_an_inode_is_read(void)
{
	struct btrfs_inode_item raw = {
		.generation = GUINT64_TO_LE(11),
		.transid = GUINT64_TO_LE(12),
		.size = GUINT64_TO_LE(13),
		.nbytes = GUINT64_TO_LE(4096),
		.nlink = GUINT32_TO_LE(2),
		.uid = GUINT32_TO_LE(65533),
		.mode = GUINT32_TO_LE(0100644),
		.flags = GUINT64_TO_LE(3),
		.mtime = { GUINT64_TO_LE(2), GUINT32_TO_LE(5) },
		.ctime = { GUINT64_TO_LE((uint64_t)-1), GUINT32_TO_LE(5) },
		.otime = { GUINT64_TO_LE(INT64_MAX), 0 },
	};
	BtrfsInodeItem item;

	g_assert_true(btrfs_inode_item_read((uint8_t *)&raw, sizeof(raw), &item));
	g_assert_cmpuint(item.generation, ==, 11);
	g_assert_cmpuint(item.transid, ==, 12);
	g_assert_cmpuint(item.size_bytes, ==, 13);
	g_assert_cmpuint(item.allocated_bytes, ==, 4096);
	g_assert_cmpuint(item.nlink, ==, 2);
	g_assert_cmpuint(item.uid, ==, 65533);
	g_assert_cmpuint(item.mode, ==, 0100644);
	g_assert_true(item.is_no_sum && item.is_no_cow);
	g_assert_cmpint(item.mtime_nsec, ==, INT64_C(2000000005));
	g_assert_cmpint(item.ctime_nsec, ==, INT64_C(-999999995));
	g_assert_cmpint(item.otime_nsec, ==, INT64_MAX);

	raw.flags = GUINT64_TO_LE(1);
	g_assert_true(btrfs_inode_item_read((uint8_t *)&raw, sizeof(raw), &item));
	g_assert_true(item.is_no_sum && !item.is_no_cow);
	g_assert_false(btrfs_inode_item_read((uint8_t *)&raw, sizeof(raw) - 1, &item));
}

static void test_a_root_is_read(void)
{
	struct btrfs_root_item raw = {
		.generation = GUINT64_TO_LE(20),
		.generation_v2 = GUINT64_TO_LE(20),
		.otransid = GUINT64_TO_LE(15),
		.otime = { GUINT64_TO_LE(7), GUINT32_TO_LE(5) },
		.bytenr = GUINT64_TO_LE(0x40000),
		.level = 2,
		.flags = GUINT64_TO_LE(1),
		.refs = GUINT32_TO_LE(1),
		.uuid = { 1, 2, 3 },
		.parent_uuid = { 4, 5, 6 },
	};
	BtrfsRootItem item;

	g_assert_true(btrfs_root_item_read((uint8_t *)&raw, sizeof(raw), &item));
	g_assert_cmpuint(item.generation, ==, 20);
	g_assert_cmpuint(item.otransid, ==, 15);
	g_assert_cmpint(item.otime_nsec, ==, INT64_C(7000000005));
	g_assert_cmpuint(item.bytenr, ==, 0x40000);
	g_assert_cmpuint(item.level, ==, 2);
	g_assert_cmpuint(item.refs, ==, 1);
	g_assert_true(item.is_read_only);
	g_assert_false(item.is_dead);
	g_assert_cmpmem(item.uuid, FS_UUID_BYTES, raw.uuid, FS_UUID_BYTES);
	g_assert_cmpmem(item.parent_uuid, FS_UUID_BYTES, raw.parent_uuid, FS_UUID_BYTES);

	raw.flags = GUINT64_TO_LE(UINT64_C(1) << 48);
	g_assert_true(btrfs_root_item_read((uint8_t *)&raw, sizeof(raw), &item));
	g_assert_true(item.is_dead && !item.is_read_only);
	raw.flags = 0;
	raw.refs = 0;
	g_assert_true(btrfs_root_item_read((uint8_t *)&raw, sizeof(raw), &item));
	g_assert_true(item.is_dead);
}

static void test_what_an_old_kernel_did_not_know_of_a_root_is_not_believed(void)
{
	const uint32_t legacy_bytes = offsetof(struct btrfs_root_item, generation_v2);
	struct btrfs_root_item raw = {
		.generation = GUINT64_TO_LE(20),
		.generation_v2 = GUINT64_TO_LE(19),
		.otransid = GUINT64_TO_LE(15),
		.refs = GUINT32_TO_LE(1),
		.uuid = { 1, 2, 3 },
	};
	BtrfsRootItem item;

	g_assert_true(btrfs_root_item_read((uint8_t *)&raw, sizeof(raw), &item));
	g_assert_cmpuint(item.otransid, ==, 0);
	g_assert_cmpuint(item.uuid[0], ==, 0);

	raw.generation_v2 = raw.generation;
	g_assert_true(btrfs_root_item_read((uint8_t *)&raw, legacy_bytes, &item));
	g_assert_cmpuint(item.otransid, ==, 0);
	g_assert_false(btrfs_root_item_read((uint8_t *)&raw, legacy_bytes - 1, &item));
}

static void test_a_reference_to_a_root_has_a_name(void)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	BtrfsRootRef ref;

	put(bytes, 256, 8);
	put(bytes, 2, 8);
	put(bytes, 4, 2);
	g_byte_array_append(bytes, (const guint8 *)"home", 4);
	g_assert_true(btrfs_root_ref_read(bytes->data, bytes->len, &ref));
	g_assert_cmpuint(ref.directory, ==, 256);
	g_assert_cmpmem(ref.name, ref.name_bytes, "home", 4);
	for (uint32_t length = 0; length < bytes->len; length++) {
		g_autofree uint8_t *cut = exactly(bytes, length);

		g_assert_false(btrfs_root_ref_read(cut, length, &ref));
	}
}

/* Read the only name of the item; false if it is damaged. */
static bool read_name(uint8_t type, const uint8_t *data, uint32_t length, BtrfsInodeName *ret)
{
	const BtrfsInodeName *ref;
	BtrfsInodeNames refs;

	btrfs_inode_names_start(&refs, type, 256, data, length);
	if (!btrfs_inode_names_next(&refs, &ref))
		return false;
	g_assert_nonnull(ref);
	*ret = *ref;
	g_assert_true(btrfs_inode_names_next(&refs, &ref));
	g_assert_null(ref);
	return true;
}

static void test_an_inode_has_names(void)
{
	static const struct {
		uint8_t type;
		uint64_t directory;
	} kinds[] = { { BTRFS_INODE_REF_KEY, 256 }, { BTRFS_INODE_EXTREF_KEY, 300 } };

	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		BtrfsInodeName ref;

		if (kinds[i].type == BTRFS_INODE_EXTREF_KEY)
			put(bytes, 300, 8);
		put(bytes, 2, 8);
		put(bytes, 4, 2);
		g_byte_array_append(bytes, (const guint8 *)"name", 4);
		g_assert_true(read_name(kinds[i].type, bytes->data, bytes->len, &ref));
		g_assert_cmpuint(ref.directory, ==, kinds[i].directory);
		g_assert_cmpmem(ref.name, ref.name_bytes, "name", 4);
		for (uint32_t length = 1; length < bytes->len; length++) {
			g_autofree uint8_t *cut = exactly(bytes, length);

			g_assert_false(read_name(kinds[i].type, cut, length, &ref));
		}
	}
}

static void test_a_name_of_no_bytes_is_refused(void)
{
	const uint8_t data[sizeof(struct btrfs_inode_ref)] = { 0 };
	BtrfsInodeName ref;

	g_assert_false(read_name(BTRFS_INODE_REF_KEY, data, sizeof(data), &ref));
}

static void test_other_items_have_no_names(void)
{
	const BtrfsInodeName *ref;
	BtrfsInodeNames refs;

	btrfs_inode_names_start(&refs, BTRFS_XATTR_ITEM_KEY, 256, (const uint8_t *)"text", 4);
	g_assert_true(btrfs_inode_names_next(&refs, &ref));
	g_assert_null(ref);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/btrfs-items/an-inode-has-names", test_an_inode_has_names);
	g_test_add_func("/btrfs-items/a-name-of-no-bytes-is-refused",
			test_a_name_of_no_bytes_is_refused);
	g_test_add_func("/btrfs-items/other-items-have-no-names", test_other_items_have_no_names);
	g_test_add_func("/btrfs-items/a-data-extent-has-references",
			test_a_data_extent_has_references);
	g_test_add_func("/btrfs-items/a-tree-block-has-no-data-references",
			test_a_tree_block_has_no_data_references);
	g_test_add_func("/btrfs-items/an-extent-of-no-kind-or-both-is-refused",
			test_an_extent_of_no_kind_or_both_is_refused);
	g_test_add_func("/btrfs-items/references-that-are-cut-short-are-refused",
			test_references_that_are_cut_short_are_refused);
	g_test_add_func("/btrfs-items/a-reference-of-unknown-type-is-refused",
			test_a_reference_of_unknown_type_is_refused);
	g_test_add_func("/btrfs-items/a-reference-can-be-an-item-of-its-own",
			test_a_reference_can_be_an_item_of_its_own);
	g_test_add_func("/btrfs-items/checksums-are-counted-by-their-size",
			test_checksums_are_counted_by_their_size);
	g_test_add_func("/btrfs-items/an-extent-of-a-file-is-read",
			test_an_extent_of_a_file_is_read);
	g_test_add_func("/btrfs-items/an-inline-extent-has-no-place",
			test_an_inline_extent_has_no_place);
	g_test_add_func("/btrfs-items/an-extent-of-a-file-that-cannot-be-is-refused",
			test_an_extent_of_a_file_that_cannot_be_is_refused);
	g_test_add_func("/btrfs-items/an-inode-is-read", test_an_inode_is_read);
	g_test_add_func("/btrfs-items/a-root-is-read", test_a_root_is_read);
	g_test_add_func("/btrfs-items/what-an-old-kernel-did-not-know-of-a-root-is-not-believed",
			test_what_an_old_kernel_did_not_know_of_a_root_is_not_believed);
	g_test_add_func("/btrfs-items/a-reference-to-a-root-has-a-name",
			test_a_reference_to_a_root_has_a_name);

	return g_test_run();
}
