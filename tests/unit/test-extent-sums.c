/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/extent-sums.h"

#include "hashstore/hash-store.h"
#include "tests/unit/fake-btrfs.h"

#include <errno.h>
#include <string.h>

#define BLOCK     UINT64_C(4096)
#define ADDRESS   (UINT64_C(1) << 30)
#define ITEMS_MAX 8

/* Read and cached together. */
#define WINDOW_BLOCKS 2048

/* A checksum tree; the sum of each block is a number of its own. */
typedef struct {
	uint32_t *sums[ITEMS_MAX];
	FakeItem items[ITEMS_MAX];
	size_t n_items;
} FakeSums;

static void fake_sums_clear(FakeSums *fake)
{
	for (size_t i = 0; i < fake->n_items; i++)
		g_free(fake->sums[i]);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FakeSums, fake_sums_clear)

static const BtrfsInfo info = {
	.checksum = BTRFS_CHECKSUM_CRC32C,
	.sum_bytes = 4,
	.sector_bytes = BLOCK,
	.node_bytes = 16384,
};

/* Add an item over the @n_blocks blocks that begin @first_block blocks behind ADDRESS. */
static void add_item(FakeSums *fake, uint64_t first_block, uint32_t n_blocks)
{
	uint32_t *sums = g_new(uint32_t, n_blocks);

	for (uint32_t i = 0; i < n_blocks; i++)
		sums[i] = (uint32_t)(1000 + first_block + i);
	fake->sums[fake->n_items] = sums;
	fake->items[fake->n_items++] = (FakeItem){
		.tree = BTRFS_CSUM_TREE_OBJECTID,
		.key = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY,
			 ADDRESS + first_block * BLOCK },
		.data = sums,
		.length = n_blocks * 4,
	};
	*fake_btrfs() = (FakeBtrfs){ .items = fake->items, .n_items = fake->n_items };
}

static ExtentSums *sums_new(void)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };

	return extent_sums_new(FAKE_BTRFS_FD, &info, secret);
}

static uint64_t sum_at(ExtentSums *sums, uint64_t block)
{
	g_autoptr(GError) error = NULL;
	uint64_t sum = 0;

	g_assert_true(extent_sums_read(sums, ADDRESS + block * BLOCK, 1, &sum, &error));
	g_assert_no_error(error);
	return sum;
}

/* Read [@first, @end) at once: blocks in [@known_from, @known_to) have sums, the others none. */
static void assert_known(ExtentSums *sums, uint64_t first, uint64_t end, uint64_t known_from,
			 uint64_t known_to)
{
	g_autofree uint64_t *read = g_new(uint64_t, end - first);
	g_autoptr(ExtentSums) fresh = sums_new();
	g_autoptr(GError) error = NULL;

	memset(read, 0xff, (end - first) * sizeof(*read));
	g_assert_true(extent_sums_read(sums, ADDRESS + first * BLOCK, end - first, read, &error));
	g_assert_no_error(error);
	for (uint64_t block = first; block < end; block++) {
		if (block >= known_from && block < known_to) {
			g_assert_cmpuint(read[block - first], !=, EXTENT_SUM_NONE);
			g_assert_cmpuint(read[block - first], ==, sum_at(fresh, block));
		} else {
			g_assert_cmpuint(read[block - first], ==, EXTENT_SUM_NONE);
		}
	}
}

static void test_sums_spread_over_several_items_are_read_as_one_row(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();

	add_item(&fake, 0, 10);
	add_item(&fake, 10, 1);
	add_item(&fake, 11, 500);
	assert_known(sums, 0, 511, 0, 511);
	assert_known(sums, 5, 20, 0, 511);
}

static void test_different_checksums_make_different_sums(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();

	add_item(&fake, 0, 10);
	for (uint64_t block = 1; block < 10; block++)
		g_assert_cmpuint(sum_at(sums, block), !=, sum_at(sums, block - 1));
}

static void test_blocks_before_between_and_behind_items_have_no_sum(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();

	add_item(&fake, 10, 10);
	add_item(&fake, 30, 10);
	assert_known(sums, 0, 25, 10, 20);
	assert_known(sums, 20, 50, 30, 40);
	assert_known(sums, 20, 30, 0, 0);
	assert_known(sums, 40, 60, 0, 0);
	assert_known(sums, 10, 20, 10, 20);
}

static void test_a_read_begins_in_the_middle_of_a_full_leaf(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();

	add_item(&fake, 0, 4000);
	assert_known(sums, 3999, 4010, 0, 4000);
}

static void test_a_lower_address_may_lie_in_an_item_that_the_search_left_out(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();

	add_item(&fake, 0, 4000);
	add_item(&fake, 4000, 4000);
	add_item(&fake, 8000, 4000);
	assert_known(sums, 7990, 7999, 0, 12000);
	assert_known(sums, 3950, 3960, 0, 12000);
	assert_known(sums, 7990, 8010, 0, 12000);
	assert_known(sums, 3950, 4010, 0, 12000);
}

static void test_a_lower_address_is_searched_for_anew(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();
	uint64_t low, high;

	add_item(&fake, 0, 10);
	add_item(&fake, 100000, 10);
	low = sum_at(sums, 3);
	high = sum_at(sums, 100003);
	g_assert_cmpuint(low, !=, high);
	g_assert_cmpuint(sum_at(sums, 3), ==, low);
	g_assert_cmpuint(sum_at(sums, 100003), ==, high);
	g_assert_cmpuint(sum_at(sums, 100002), !=, EXTENT_SUM_NONE);
}

static void test_the_end_of_the_tree_hides_nothing_that_lies_below(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();

	add_item(&fake, 0, 10);
	assert_known(sums, 1000000, 1000010, 0, 0);
	assert_known(sums, 0, 12, 0, 10);
	assert_known(sums, 12, 20, 0, 0);
	assert_known(sums, 9, 11, 9, 10);
	assert_known(sums, 0, 10, 0, 10);
}

static void test_an_empty_tree_has_no_sums(void)
{
	g_autoptr(ExtentSums) sums = sums_new();

	*fake_btrfs() = (FakeBtrfs){ 0 };
	g_assert_cmpuint(sum_at(sums, 5), ==, EXTENT_SUM_NONE);
	g_assert_cmpuint(sum_at(sums, 0), ==, EXTENT_SUM_NONE);
}

static void test_rising_addresses_cost_one_search(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();
	unsigned n_calls;

	add_item(&fake, 0, 1000);
	add_item(&fake, 1500, 1000);
	sum_at(sums, 0);
	n_calls = fake_btrfs()->n_calls;
	for (uint64_t block = 1; block < 2500; block += 7)
		sum_at(sums, block);
	/* One more call finds the end of the tree. */
	g_assert_cmpuint(fake_btrfs()->n_calls, <=, n_calls + 1);
}

static void test_scattered_addresses_cost_their_own_sums(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();

	add_item(&fake, 0, 1000);
	for (uint64_t gib = 0; gib < 20; gib++) {
		uint64_t block = (gib * 7 % 20) << 18;

		sum_at(sums, block);
		g_assert_cmpuint(fake_btrfs()->asked_offset, ==,
				 ADDRESS + (block + WINDOW_BLOCKS) * BLOCK - 1);
	}
}

static void test_searches_in_order_grow(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();

	add_item(&fake, 0, 1000);
	for (uint64_t window = 0; window < 512; window++)
		sum_at(sums, window * WINDOW_BLOCKS);
	/* 8, 16, 32 MiB and so on, up to a GiB; 4 GiB in all. */
	g_assert_cmpuint(fake_btrfs()->n_calls, <=, 16);
}

static void test_what_was_read_lately_costs_no_search(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();
	uint64_t known;
	unsigned n_calls;

	add_item(&fake, 0, 10);
	add_item(&fake, 100000, 10);
	known = sum_at(sums, 3);
	sum_at(sums, 100003);
	n_calls = fake_btrfs()->n_calls;
	for (unsigned i = 0; i < 10; i++) {
		sum_at(sums, 3 + i % 7);
		sum_at(sums, 100003 + i % 7);
	}
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, n_calls);

	fake.sums[0][3]++;
	g_assert_cmpuint(sum_at(sums, 3), ==, known);
	extent_sums_forget(sums);
	g_assert_cmpuint(sum_at(sums, 3), !=, known);
}

static void test_far_more_than_is_kept_is_read_right(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();

	for (uint64_t i = 0; i < ITEMS_MAX; i++)
		add_item(&fake, i * 50000, 4000);
	for (unsigned round = 0; round < 2; round++)
		for (uint64_t i = 0; i < ITEMS_MAX * 50000; i += 1777)
			assert_known(sums, i, i + 1, i - i % 50000, i - i % 50000 + 4000);
}

static void test_zeros_are_known_by_their_sum(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();

	add_item(&fake, 0, 2);
	fake.sums[0][1] = GUINT32_TO_LE(0x98f94189); /* CRC-32C of 4096 zeros */
	g_assert_cmpuint(sum_at(sums, 1), ==, extent_sums_of_zeros(sums));
	g_assert_cmpuint(sum_at(sums, 0), !=, extent_sums_of_zeros(sums));
}

static void test_a_search_that_failed_is_made_again(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();
	g_autoptr(GError) error = NULL;
	uint64_t sum;

	add_item(&fake, 0, 10);
	fake_btrfs()->error = EIO;
	g_assert_false(extent_sums_read(sums, ADDRESS, 1, &sum, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_IO);
	fake_btrfs()->error = 0;
	assert_known(sums, 0, 10, 0, 10);
}

static void test_an_item_of_no_whole_sums_is_an_error(void)
{
	g_auto(FakeSums) fake = { 0 };
	g_autoptr(ExtentSums) sums = sums_new();
	g_autoptr(GError) error = NULL;
	uint64_t sum;

	add_item(&fake, 0, 10);
	fake.items[0].length = 39;
	g_assert_false(extent_sums_read(sums, ADDRESS, 1, &sum, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL);
}

int main(int argc, char *argv[])
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/extent-sums/sums-spread-over-several-items-are-read-as-one-row",
			test_sums_spread_over_several_items_are_read_as_one_row);
	g_test_add_func("/extent-sums/different-checksums-make-different-sums",
			test_different_checksums_make_different_sums);
	g_test_add_func("/extent-sums/blocks-before-between-and-behind-items-have-no-sum",
			test_blocks_before_between_and_behind_items_have_no_sum);
	g_test_add_func("/extent-sums/a-read-begins-in-the-middle-of-a-full-leaf",
			test_a_read_begins_in_the_middle_of_a_full_leaf);
	g_test_add_func("/extent-sums/a-lower-address-may-lie-in-an-item-that-the-search-left-out",
			test_a_lower_address_may_lie_in_an_item_that_the_search_left_out);
	g_test_add_func("/extent-sums/a-lower-address-is-searched-for-anew",
			test_a_lower_address_is_searched_for_anew);
	g_test_add_func("/extent-sums/the-end-of-the-tree-hides-nothing-that-lies-below",
			test_the_end_of_the_tree_hides_nothing_that_lies_below);
	g_test_add_func("/extent-sums/an-empty-tree-has-no-sums", test_an_empty_tree_has_no_sums);
	g_test_add_func("/extent-sums/rising-addresses-cost-one-search",
			test_rising_addresses_cost_one_search);
	g_test_add_func("/extent-sums/scattered-addresses-cost-their-own-sums",
			test_scattered_addresses_cost_their_own_sums);
	g_test_add_func("/extent-sums/searches-in-order-grow", test_searches_in_order_grow);
	g_test_add_func("/extent-sums/what-was-read-lately-costs-no-search",
			test_what_was_read_lately_costs_no_search);
	g_test_add_func("/extent-sums/far-more-than-is-kept-is-read-right",
			test_far_more_than_is_kept_is_read_right);
	g_test_add_func("/extent-sums/zeros-are-known-by-their-sum",
			test_zeros_are_known_by_their_sum);
	g_test_add_func("/extent-sums/a-search-that-failed-is-made-again",
			test_a_search_that_failed_is_made_again);
	g_test_add_func("/extent-sums/an-item-of-no-whole-sums-is-an-error",
			test_an_item_of_no_whole_sums_is_an_error);
	return g_test_run();
}
