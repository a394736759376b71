/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"

#include "tests/unit/fake-btrfs.h"

#include <errno.h>

#define ROOT  UINT64_C(256)
#define INODE UINT64_C(300)
#define KIB   UINT64_C(1024)
#define MIB   (KIB * 1024)
#define TIB   (MIB * MIB)

/* One item of a file, as the tests describe it. */
typedef struct {
	uint64_t logical;
	uint64_t length;
} Piece;

typedef struct {
	struct btrfs_file_extent_item *payloads;
	FakeItem *items;
} FakeFile;

static void fake_file_clear(FakeFile *file)
{
	g_free(file->payloads);
	g_free(file->items);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FakeFile, fake_file_clear)

static FakeFile make_file(const Piece *pieces, size_t n)
{
	FakeFile file = { g_new0(struct btrfs_file_extent_item, n), g_new0(FakeItem, n) };

	for (size_t i = 0; i < n; i++) {
		file.payloads[i] = (struct btrfs_file_extent_item){
			.generation = GUINT64_TO_LE(7),
			.ram_bytes = GUINT64_TO_LE(pieces[i].length),
			.type = BTRFS_FILE_EXTENT_REG,
			.disk_bytenr = GUINT64_TO_LE((i + 1) * TIB),
			.disk_num_bytes = GUINT64_TO_LE(pieces[i].length),
			.num_bytes = GUINT64_TO_LE(pieces[i].length),
		};
		file.items[i] = (FakeItem){
			.tree = ROOT,
			.key = { INODE, BTRFS_EXTENT_DATA_KEY, pieces[i].logical },
			.data = &file.payloads[i],
			.length = sizeof(file.payloads[i]),
			.transid = 9,
		};
	}
	return file;
}

static void kernel_set(const FakeFile *file, size_t n)
{
	*fake_btrfs() = (FakeBtrfs){ .items = file->items, .n_items = n };
}

static const BtrfsFileExtent *next_extent(BtrfsFileExtents *extents)
{
	g_autoptr(GError) error = NULL;
	const BtrfsFileExtent *extent;

	g_assert_true(btrfs_file_extents_next(extents, &extent, &error));
	g_assert_no_error(error);
	return extent;
}

/* Exactly the pieces from @first to before @end touch the range. */
static void assert_range(const Piece *pieces, size_t first, size_t end, uint64_t offset,
			 uint64_t length)
{
	g_autoptr(BtrfsFileExtents) extents = btrfs_file_extents_new();

	btrfs_file_extents_start(extents, FAKE_BTRFS_FD, ROOT, INODE, offset, length);
	for (size_t i = first; i < end; i++) {
		const BtrfsFileExtent *extent = next_extent(extents);

		g_assert_nonnull(extent);
		g_assert_cmpuint(extent->logical, ==, pieces[i].logical);
		g_assert_cmpuint(extent->length, ==, pieces[i].length);
		g_assert_cmpuint(extent->bytenr, ==, (i + 1) * TIB);
		g_assert_cmpuint(extent->generation, ==, 7);
		g_assert_cmpuint(extent->transid, ==, 9);
	}
	g_assert_null(next_extent(extents));
	g_assert_null(next_extent(extents));
}

static void test_a_range_has_the_items_that_touch_it(void)
{
	static const Piece pieces[] = {
		{ 0, 4 * KIB },   { 4 * KIB, 128 * MIB },     { 200 * MIB, 4 * KIB },
		{ TIB, 4 * KIB }, { TIB + 4 * KIB, 4 * KIB }, { 3 * TIB, MIB },
	};
	static const struct {
		size_t first;
		size_t end;
		uint64_t offset;
		uint64_t length;
	} cases[] = {
		{ 0, 6, 0, UINT64_MAX },
		{ 0, 1, 0, 4 * KIB },
		{ 0, 2, 0, 4 * KIB + 1 },
		{ 1, 2, 4 * KIB, 1 },
		{ 1, 2, 128 * MIB + 4 * KIB - 1, 1 }, /* begins far before the range */
		{ 0, 0, 128 * MIB + 4 * KIB, 1 },
		{ 2, 5, 150 * MIB, TIB },
		{ 4, 5, TIB + 5 * KIB, 100 },
		{ 0, 0, 2 * TIB, MIB },
		{ 5, 6, 3 * TIB + MIB - 1, UINT64_MAX },
		{ 0, 0, INT64_MAX, UINT64_MAX },
		{ 0, 0, 100, 0 },
	};
	g_auto(FakeFile) file = make_file(pieces, G_N_ELEMENTS(pieces));

	kernel_set(&file, G_N_ELEMENTS(pieces));
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		assert_range(pieces, cases[i].first, cases[i].end, cases[i].offset,
			     cases[i].length);
}

static void test_many_items_come_in_file_order(void)
{
	g_autofree Piece *pieces = g_new(Piece, 5000);
	g_auto(FakeFile) file = { 0 };

	for (size_t i = 0; i < 5000; i++)
		pieces[i] = (Piece){ i * 8 * KIB, 4 * KIB };
	file = make_file(pieces, 5000);
	kernel_set(&file, 5000);
	assert_range(pieces, 0, 5000, 0, UINT64_MAX);
	assert_range(pieces, 4000, 4010, 4000 * 8 * KIB, 10 * 8 * KIB);
}

static void test_an_item_where_it_is_sought_is_found_by_one_call(void)
{
	static const Piece pieces[] = { { 0, MIB }, { MIB, MIB }, { 2 * MIB, MIB } };
	g_auto(FakeFile) file = make_file(pieces, G_N_ELEMENTS(pieces));

	kernel_set(&file, G_N_ELEMENTS(pieces));
	assert_range(pieces, 1, 2, MIB, MIB);
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 1);
}

static void test_the_extent_at_a_byte_is_one_in_place(void)
{
	static const Piece pieces[] = { { 0, 100 }, { 4 * KIB, 4 * KIB }, { 8 * KIB, 4 * KIB } };
	g_auto(FakeFile) file = make_file(pieces, G_N_ELEMENTS(pieces));
	BtrfsFileExtent extent;
	GError *error = NULL;

	kernel_set(&file, G_N_ELEMENTS(pieces));
	/* Tree 0 is the file's own.  One of the others is inline, and one is a hole. */
	for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++)
		file.items[i].tree = 0;
	file.payloads[0].type = BTRFS_FILE_EXTENT_INLINE;
	file.payloads[2].disk_bytenr = 0;

	g_assert_true(btrfs_file_extent_read(FAKE_BTRFS_FD, INODE, 5 * KIB, &extent, &error));
	g_assert_cmpuint(extent.logical, ==, 4 * KIB);
	for (uint64_t at = 0; at <= 12 * KIB; at += at ? 4 * KIB : 8 * KIB) {
		g_assert_false(btrfs_file_extent_read(FAKE_BTRFS_FD, INODE, at, &extent, &error));
		g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
		g_clear_error(&error);
	}
}

static void test_a_damaged_item_is_an_error(void)
{
	static const Piece piece = { 4 * KIB, 4 * KIB };
	g_auto(FakeFile) file = make_file(&piece, 1);
	g_autoptr(BtrfsFileExtents) extents = btrfs_file_extents_new();
	g_autoptr(GError) error = NULL;
	const BtrfsFileExtent *extent;

	kernel_set(&file, 1);
	file.items[0].length--;
	btrfs_file_extents_start(extents, FAKE_BTRFS_FD, ROOT, INODE, 0, UINT64_MAX);
	g_assert_false(btrfs_file_extents_next(extents, &extent, &error));
	g_assert_cmpstr(error->message, ==,
			"cannot read the extents of inode 300: the item at 4096 is damaged");
	g_assert_null(extent);
}

static void test_a_subvolume_that_has_gone_is_an_error_of_its_own(void)
{
	g_autoptr(BtrfsFileExtents) extents = btrfs_file_extents_new();
	g_autoptr(GError) error = NULL;
	const BtrfsFileExtent *extent;

	*fake_btrfs() = (FakeBtrfs){ .error = ENOENT };
	g_assert_null(next_extent(extents));
	btrfs_file_extents_start(extents, FAKE_BTRFS_FD, ROOT, INODE, 0, 1);
	g_assert_false(btrfs_file_extents_next(extents, &extent, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
}

static void test_who_does_not_mind_sees_no_items_in_a_subvolume_that_has_gone(void)
{
	g_autoptr(BtrfsFileExtents) extents = btrfs_file_extents_new();
	g_autoptr(GError) error = NULL;
	const BtrfsFileExtent *extent;

	*fake_btrfs() = (FakeBtrfs){ .error = ENOENT };
	btrfs_file_extents_start(extents, FAKE_BTRFS_FD, ROOT, INODE, 0, 1);
	g_assert_true(btrfs_file_extents_next_if_any(extents, &extent, &error));
	g_assert_null(extent);
	g_assert_no_error(error);

	*fake_btrfs() = (FakeBtrfs){ .error = EPERM };
	btrfs_file_extents_start(extents, FAKE_BTRFS_FD, ROOT, INODE, 0, 1);
	g_assert_false(btrfs_file_extents_next_if_any(extents, &extent, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/btrfs-file-extent/a-range-has-the-items-that-touch-it",
			test_a_range_has_the_items_that_touch_it);
	g_test_add_func("/btrfs-file-extent/many-items-come-in-file-order",
			test_many_items_come_in_file_order);
	g_test_add_func("/btrfs-file-extent/an-item-where-it-is-sought-is-found-by-one-call",
			test_an_item_where_it_is_sought_is_found_by_one_call);
	g_test_add_func("/btrfs-file-extent/the-extent-at-a-byte-is-one-in-place",
			test_the_extent_at_a_byte_is_one_in_place);
	g_test_add_func("/btrfs-file-extent/a-damaged-item-is-an-error",
			test_a_damaged_item_is_an_error);
	g_test_add_func("/btrfs-file-extent/a-subvolume-that-has-gone-is-an-error-of-its-own",
			test_a_subvolume_that_has_gone_is_an_error_of_its_own);
	g_test_add_func(
		"/btrfs-file-extent/who-does-not-mind-sees-no-items-in-a-subvolume-that-has-gone",
		test_who_does_not_mind_sees_no_items_in_a_subvolume_that_has_gone);

	return g_test_run();
}
