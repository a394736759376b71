/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include "tests/unit/fake-btrfs.h"

#include <errno.h>
#include <string.h>

#define TREE UINT64_C(7)

static const BtrfsTreeRange everything = {
	.tree = TREE,
	.last = { UINT64_MAX, UINT8_MAX, UINT64_MAX },
};

static void kernel_set(const FakeItem *items, size_t n_items)
{
	*fake_btrfs() = (FakeBtrfs){ .items = items, .n_items = n_items };
}

static const BtrfsTreeItem *next_item(BtrfsTree *tree)
{
	g_autoptr(GError) error = NULL;
	const BtrfsTreeItem *item;

	g_assert_true(btrfs_tree_next(tree, &item, &error));
	g_assert_no_error(error);
	return item;
}

static void assert_next(BtrfsTree *tree, const FakeItem *expected)
{
	const BtrfsTreeItem *item = next_item(tree);

	g_assert_nonnull(item);
	g_assert_cmpint(btrfs_key_compare(&item->key, &expected->key), ==, 0);
	g_assert_cmpuint(item->transid, ==, expected->transid);
	g_assert_cmpmem(item->data, item->length, expected->data, expected->length);
}

static void assert_fails(BtrfsTree *tree, GFileError code, const char *message)
{
	g_autoptr(GError) error = NULL;
	const BtrfsTreeItem *item;

	g_assert_false(btrfs_tree_next(tree, &item, &error));
	g_assert_error(error, G_FILE_ERROR, (int)code);
	g_assert_cmpstr(error->message, ==, message);
	g_assert_null(item);
	g_assert_null(next_item(tree));
}

/* Make @n items of @length bytes each, of two types and several inodes. */
static FakeItem *make_many(size_t n, uint32_t length, uint8_t **ret_data)
{
	FakeItem *items = g_new0(FakeItem, n);

	*ret_data = g_malloc(n + length);
	for (size_t i = 0; i < n + length; i++)
		(*ret_data)[i] = (uint8_t)(i * 7);
	for (size_t i = 0; i < n; i++)
		items[i] = (FakeItem){
			.tree = TREE,
			.key = { 256 + i / 10, i % 10 ? 108 : 1, i % 10 },
			.data = *ret_data + i,
			.length = length,
			.transid = 10 + i % 3,
		};
	return items;
}

static void test_keys_are_ordered_by_objectid_then_type_then_offset(void)
{
	static const BtrfsKey keys[] = {
		{ 0, 0, 0 }, { 0, 0, UINT64_MAX }, { 0, 255, 0 }, { 1, 0, 0 }, { UINT64_MAX, 0, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
		for (size_t j = 0; j < G_N_ELEMENTS(keys); j++) {
			int order = btrfs_key_compare(&keys[i], &keys[j]);

			g_assert_cmpint((order > 0) - (order < 0), ==, (i > j) - (i < j));
		}
}

static void test_a_search_goes_on_behind_the_last_item_of_a_buffer(void)
{
	g_autofree uint8_t *data = NULL;
	g_autofree FakeItem *items = make_many(1000, 100, &data);
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);

	kernel_set(items, 1000);
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &everything);
	for (size_t i = 0; i < 1000; i++)
		assert_next(tree, &items[i]);
	g_assert_null(next_item(tree));
	g_assert_null(next_item(tree));
	g_assert_cmpuint(fake_btrfs()->n_calls, >, 20);
	g_assert_cmpuint(fake_btrfs()->largest_buffer_bytes, ==, BTRFS_TREE_BUFFER_BYTES_MIN);
}

static void test_an_answer_with_room_for_more_is_the_last(void)
{
	g_autofree uint8_t *data = NULL;
	g_autofree FakeItem *items = make_many(10, 100, &data);
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);

	kernel_set(items, 10);
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &everything);
	g_assert_false(btrfs_tree_is_at_hand(tree));
	for (size_t i = 0; i < 10; i++) {
		assert_next(tree, &items[i]);
		g_assert_cmpint(btrfs_tree_is_at_hand(tree), ==, i < 9);
	}
	g_assert_null(next_item(tree));
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 1);
}

static void test_no_more_items_are_asked_for_than_are_wanted_at_a_time(void)
{
	g_autofree uint8_t *data = NULL;
	g_autofree FakeItem *items = make_many(10, 100, &data);
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);

	kernel_set(items, 10);
	btrfs_tree_set_most_items(tree, 4);
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &everything);
	for (size_t i = 0; i < 10; i++)
		assert_next(tree, &items[i]);
	g_assert_null(next_item(tree));
	g_assert_cmpuint(fake_btrfs()->asked_items, ==, 4);
	/* The third answer is not full. */
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 3);
}

static void test_of_one_key_one_item_is_asked_for(void)
{
	g_autofree uint8_t *data = NULL;
	g_autofree FakeItem *items = make_many(100, 100, &data);
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	const BtrfsTreeRange one = { .tree = TREE, .first = items[7].key, .last = items[7].key };
	const BtrfsTreeRange two = { .tree = TREE, .first = items[7].key, .last = items[8].key };

	kernel_set(items, 100);
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &one);
	assert_next(tree, &items[7]);
	g_assert_null(next_item(tree));
	g_assert_cmpuint(fake_btrfs()->asked_items, ==, 1);

	btrfs_tree_start(tree, FAKE_BTRFS_FD, &two);
	assert_next(tree, &items[7]);
	assert_next(tree, &items[8]);
	g_assert_null(next_item(tree));
	g_assert_cmpuint(fake_btrfs()->asked_items, ==, UINT32_MAX);
}

static void test_the_key_after_the_last_of_a_type_is_the_next_types_first(void)
{
	const uint8_t data[3000] = { 0 };
	/* Each item fills a buffer, so each request begins behind the previous key. */
	const FakeItem items[] = {
		{ TREE, { 1, 1, UINT64_MAX }, data, sizeof(data), 1 },
		{ TREE, { 1, 2, 0 }, data, sizeof(data), 1 },
		{ TREE, { 1, 255, UINT64_MAX }, data, sizeof(data), 1 },
		{ TREE, { 2, 0, 0 }, data, sizeof(data), 1 },
		{ TREE, { 2, 0, 1 }, data, sizeof(data), 1 },
		{ TREE, { UINT64_MAX, 255, UINT64_MAX - 1 }, data, sizeof(data), 1 },
		{ TREE, { UINT64_MAX, 255, UINT64_MAX }, data, sizeof(data), 1 },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);

	kernel_set(items, G_N_ELEMENTS(items));
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &everything);
	for (size_t i = 0; i < G_N_ELEMENTS(items); i++)
		assert_next(tree, &items[i]);
	g_assert_null(next_item(tree));
	/* Behind the very last key there is nothing to ask for. */
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, G_N_ELEMENTS(items));
}

static void test_a_range_contains_its_ends_and_no_more(void)
{
	g_autofree uint8_t *data = NULL;
	g_autofree FakeItem *items = make_many(100, 8, &data);
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	BtrfsTreeRange range = { .tree = TREE, .first = items[13].key, .last = items[15].key };

	kernel_set(items, 100);
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &range);
	for (size_t i = 13; i <= 15; i++)
		assert_next(tree, &items[i]);
	g_assert_null(next_item(tree));
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 1);

	range.tree = TREE + 1;
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &range);
	g_assert_null(next_item(tree));
}

static void test_a_range_that_is_empty_asks_for_nothing(void)
{
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	const BtrfsTreeRange range = { .tree = TREE, .first = { 2, 1, 1 }, .last = { 2, 1, 0 } };

	kernel_set(NULL, 0);
	g_assert_null(next_item(tree));
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &range);
	g_assert_null(next_item(tree));
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 0);
}

static void test_types_that_are_not_wanted_are_passed_over(void)
{
	g_autofree uint8_t *data = NULL;
	g_autofree FakeItem *items = make_many(1000, 100, &data);
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	BtrfsTreeRange range = everything;

	kernel_set(items, 1000);
	range.types[0] = 36;
	range.types[1] = 1;
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &range);
	for (size_t i = 0; i < 1000; i += 10)
		assert_next(tree, &items[i]);
	g_assert_null(next_item(tree));

	range.types[1] = 84;
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &range);
	g_assert_null(next_item(tree));
}

static void test_older_leaves_are_left_out(void)
{
	g_autofree uint8_t *data = NULL;
	g_autofree FakeItem *items = make_many(90, 8, &data);
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	BtrfsTreeRange range = everything;

	kernel_set(items, 90);
	range.min_transid = 12;
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &range);
	for (size_t i = 2; i < 90; i += 3)
		assert_next(tree, &items[i]);
	g_assert_null(next_item(tree));
}

static void test_an_item_larger_than_the_buffer_makes_it_grow(void)
{
	g_autofree uint8_t *data = g_malloc0(60000);
	const FakeItem items[] = {
		{ TREE, { 1, 1, 0 }, data, 100, 1 },
		{ TREE, { 1, 1, 1 }, data, 16000, 1 },
		{ TREE, { 1, 1, 2 }, data, 60000, 1 },
		{ TREE, { 1, 1, 3 }, NULL, 0, 1 },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(0);

	kernel_set(items, G_N_ELEMENTS(items));
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &everything);
	for (size_t i = 0; i < G_N_ELEMENTS(items); i++)
		assert_next(tree, &items[i]);
	g_assert_null(next_item(tree));
	g_assert_cmpuint(fake_btrfs()->largest_buffer_bytes, ==,
			 60000 + sizeof(struct btrfs_ioctl_search_header));
}

static void test_an_answer_that_cannot_be_is_an_error(void)
{
	static const struct {
		FakeBtrfs fault;
		const char *message;
	} cases[] = {
		{ { .repeats_itself = true },
		  "cannot search the checksum tree of the btrfs: the kernel's answer is not in "
		  "order" },
		{ { .extra_bytes = UINT32_MAX - 8 },
		  "cannot search the checksum tree of the btrfs: the kernel's answer is longer "
		  "than "
		  "its buffer" },
		{ { .extra_bytes = 4096 },
		  "cannot search the checksum tree of the btrfs: the kernel's answer is longer "
		  "than "
		  "its buffer" },
		{ { .error = EOVERFLOW },
		  "cannot search the checksum tree of the btrfs: the kernel's answer fits no "
		  "buffer" },
	};
	g_autofree uint8_t *data = NULL;
	g_autofree FakeItem *items = make_many(1000, 8, &data);

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
		BtrfsTreeRange range = everything;

		*fake_btrfs() = cases[i].fault;
		fake_btrfs()->items = items;
		fake_btrfs()->n_items = 1000;
		range.first = items[1].key;
		btrfs_tree_start(tree, FAKE_BTRFS_FD, &range);
		assert_fails(tree, G_FILE_ERROR_IO, cases[i].message);
	}
}

static void test_more_items_than_fit_are_not_believed(void)
{
	g_autofree uint8_t *data = NULL;
	g_autofree FakeItem *items = make_many(64, 32, &data);
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	g_autoptr(GError) error = NULL;
	const BtrfsTreeItem *item;

	/* The items fill the buffer to its last byte. */
	kernel_set(items, 64);
	fake_btrfs()->extra_items = 1;
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &everything);
	for (size_t i = 0; i < 64; i++)
		assert_next(tree, &items[i]);
	g_assert_false(btrfs_tree_next(tree, &item, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_IO);
}

static void test_a_call_that_fails_says_what_it_tried(void)
{
	static const struct {
		uint64_t tree;
		int error;
		GFileError code;
		const char *message;
	} cases[] = {
		{ 1, EPERM, G_FILE_ERROR_PERM,
		  "cannot search the root tree of the btrfs: Operation not permitted" },
		{ 2, EIO, G_FILE_ERROR_IO,
		  "cannot search the extent tree of the btrfs: Input/output error" },
		{ 257, ENOENT, G_FILE_ERROR_NOENT,
		  "cannot search the tree of subvolume 257 of the btrfs: No such file or "
		  "directory" },
		{ 0, EIO, G_FILE_ERROR_IO,
		  "cannot search the tree of the subvolume of the btrfs: Input/output error" },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		BtrfsTreeRange range = everything;

		kernel_set(NULL, 0);
		fake_btrfs()->error = cases[i].error;
		range.tree = cases[i].tree;
		btrfs_tree_start(tree, FAKE_BTRFS_FD, &range);
		assert_fails(tree, cases[i].code, cases[i].message);
	}
}

static void test_a_tree_can_be_started_again(void)
{
	g_autofree uint8_t *data = NULL;
	g_autofree FakeItem *items = make_many(100, 100, &data);
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);

	kernel_set(items, 100);
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &everything);
	for (size_t i = 0; i < 5; i++)
		assert_next(tree, &items[i]);
	btrfs_tree_start(tree, FAKE_BTRFS_FD, &everything);
	for (size_t i = 0; i < 100; i++)
		assert_next(tree, &items[i]);
	g_assert_null(next_item(tree));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/btrfs-tree/keys-are-ordered-by-objectid-then-type-then-offset",
			test_keys_are_ordered_by_objectid_then_type_then_offset);
	g_test_add_func("/btrfs-tree/a-search-goes-on-behind-the-last-item-of-a-buffer",
			test_a_search_goes_on_behind_the_last_item_of_a_buffer);
	g_test_add_func("/btrfs-tree/of-one-key-one-item-is-asked-for",
			test_of_one_key_one_item_is_asked_for);
	g_test_add_func("/btrfs-tree/the-key-after-the-last-of-a-type-is-the-next-types-first",
			test_the_key_after_the_last_of_a_type_is_the_next_types_first);
	g_test_add_func("/btrfs-tree/a-range-contains-its-ends-and-no-more",
			test_a_range_contains_its_ends_and_no_more);
	g_test_add_func("/btrfs-tree/a-range-that-is-empty-asks-for-nothing",
			test_a_range_that_is_empty_asks_for_nothing);
	g_test_add_func("/btrfs-tree/types-that-are-not-wanted-are-passed-over",
			test_types_that_are_not_wanted_are_passed_over);
	g_test_add_func("/btrfs-tree/older-leaves-are-left-out", test_older_leaves_are_left_out);
	g_test_add_func("/btrfs-tree/an-item-larger-than-the-buffer-makes-it-grow",
			test_an_item_larger_than_the_buffer_makes_it_grow);
	g_test_add_func("/btrfs-tree/an-answer-that-cannot-be-is-an-error",
			test_an_answer_that_cannot_be_is_an_error);
	g_test_add_func("/btrfs-tree/more-items-than-fit-are-not-believed",
			test_more_items_than_fit_are_not_believed);
	g_test_add_func("/btrfs-tree/a-call-that-fails-says-what-it-tried",
			test_a_call_that_fails_says_what_it_tried);
	g_test_add_func("/btrfs-tree/a-tree-can-be-started-again",
			test_a_tree_can_be_started_again);
	g_test_add_func("/btrfs-tree/an-answer-with-room-for-more-is-the-last",
			test_an_answer_with_room_for_more_is_the_last);
	g_test_add_func("/btrfs-tree/no-more-items-are-asked-for-than-are-wanted-at-a-time",
			test_no_more_items_are_asked_for_than_are_wanted_at_a_time);

	return g_test_run();
}
