/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/pinned.h"

#include "hashstore/objects/open-extents.h"
#include "tests/store/store-fixture.h"

#define MIB (UINT64_C(1) << 20)

static bool is_any_live(uint32_t object, void *data)
{
	return true;
}

/* An extent that the file @inode of @root keeps. */
static PinnedExtent pinned(uint64_t number, uint64_t root, uint64_t inode)
{
	return (PinnedExtent){
		.extent = { number * MIB, 100 + number },
		.cause = 1 + (uint32_t)(number % 3),
		.root = root,
		.inode = inode,
		.offset = number,
		.position = 4096,
		.length = 8192,
		.uncovered_bytes = 5000,
		.places = 7,
		.bytes = 4096,
		.is_source = number % 5 == 0,
	};
}

static bool put(HashStore *store, PinnedExtent row)
{
	GError *error = NULL;
	bool kept;

	g_assert_true(hash_store_put_pinned(store, &row, &kept, &error));
	g_assert_no_error(error);
	return kept;
}

static void drop(HashStore *store, uint64_t number)
{
	GError *error = NULL;

	g_assert_true(hash_store_drop_extent(store, number * MIB, &error));
	g_assert_no_error(error);
}

/* The number of the first extent at @number or behind it; 0: none. */
static uint64_t next(HashStore *store, uint64_t number, PinnedExtent *ret)
{
	GError *error = NULL;
	bool found;

	g_assert_true(hash_store_next_pinned(store, number * MIB, ret, &found, &error));
	g_assert_no_error(error);
	return found ? ret->extent.address / MIB : 0;
}

static uint64_t next_by(HashStore *store, uint64_t root, uint64_t inode, uint64_t number)
{
	GError *error = NULL;
	PinnedExtent row;
	bool found;

	g_assert_true(
		hash_store_next_pinned_by(store, root, inode, number * MIB, &row, &found, &error));
	g_assert_no_error(error);
	if (!found)
		return 0;
	g_assert_cmpuint(row.root, ==, root);
	g_assert_cmpuint(row.inode, ==, inode);
	return row.extent.address / MIB;
}

static uint64_t next_root(HashStore *store, uint64_t from)
{
	uint64_t root;

	g_assert_true(hash_store_next_pinning_root(store, from, &root, NULL));
	return root;
}

static uint64_t next_root_for(HashStore *store, uint32_t cause, uint64_t from)
{
	uint64_t root;

	g_assert_true(hash_store_next_pinning_root_for(store, cause, from, &root, NULL));
	return root;
}

static uint64_t next_inode(HashStore *store, uint64_t root, uint64_t from)
{
	uint64_t inode;

	g_assert_true(hash_store_next_pinning_inode(store, root, from, &inode, NULL));
	return inode;
}

static void assert_equal(const PinnedExtent *one, const PinnedExtent *other)
{
	g_assert_cmpuint(one->extent.address, ==, other->extent.address);
	g_assert_cmpuint(one->extent.generation, ==, other->extent.generation);
	g_assert_cmpuint(one->cause, ==, other->cause);
	g_assert_cmpuint(one->root, ==, other->root);
	g_assert_cmpuint(one->inode, ==, other->inode);
	g_assert_cmpuint(one->offset, ==, other->offset);
	g_assert_cmpuint(one->position, ==, other->position);
	g_assert_cmpuint(one->length, ==, other->length);
	g_assert_cmpuint(one->uncovered_bytes, ==, other->uncovered_bytes);
	g_assert_cmpuint(one->places, ==, other->places);
	g_assert_cmpuint(one->bytes, ==, other->bytes);
	g_assert_cmpint(one->is_source, ==, other->is_source);
}

static void test_what_is_put_stays_in_the_store(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	PinnedExtent first = pinned(1, 5, 257), row;

	g_assert_true(put(store, first));
	g_assert_true(hash_store_commit(store, NULL));
	hash_store_close(g_steal_pointer(&store));
	store = store_fixture_open(fixture);
	g_assert_cmpuint(next(store, 0, &row), ==, 1);
	assert_equal(&row, &first);
}

static void test_sources_and_what_snapshots_hold_are_not_pinned(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	PinnedExtent held = pinned(4, 5, 257);
	PinnedSum sum;

	/* 1 and 7 have one cause, 5 is a source. */
	put(store, pinned(1, 5, 257));
	put(store, pinned(7, 5, 258));
	put(store, pinned(2, 5, 257));
	put(store, pinned(5, 5, 257));
	held.holders = 3;
	put(store, held);

	g_assert_true(hash_store_sum_pinned(store, pinned(1, 5, 257).cause, &sum, NULL));
	g_assert_cmpuint(sum.extents, ==, 2);
	g_assert_cmpuint(sum.bytes, ==, 2 * 4096);
	g_assert_cmpuint(sum.uncovered_bytes, ==, 2 * 5000);
	g_assert_true(hash_store_sum_pinned(store, pinned(2, 5, 257).cause, &sum, NULL));
	g_assert_cmpuint(sum.extents, ==, 1);
	g_assert_true(hash_store_sum_pinned(store, PINNED_ANY_CAUSE, &sum, NULL));
	g_assert_cmpuint(sum.extents, ==, 3);
	g_assert_cmpuint(sum.bytes, ==, 3 * 4096);
	g_assert_true(hash_store_sum_pinned(store, 99, &sum, NULL));
	g_assert_cmpuint(sum.extents, ==, 0);
}

static void test_what_is_not_committed_is_lost(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	PinnedExtent row;

	put(store, pinned(1, 5, 257));
	hash_store_close(g_steal_pointer(&store));
	store = store_fixture_open(fixture);
	g_assert_cmpuint(next(store, 0, &row), ==, 0);
}

static void test_an_extent_has_one_cause(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	PinnedExtent other = pinned(1, 256, 300), row;

	put(store, pinned(1, 5, 257));
	other.cause = 9;
	other.extent.generation = 777;
	g_assert_true(put(store, other));
	next(store, 1, &row);
	assert_equal(&row, &other);
	g_assert_cmpuint(next_by(store, 5, 257, 0), ==, 0);
	g_assert_cmpuint(next_root(store, 0), ==, 256);
	g_assert_cmpuint(next_root(store, 257), ==, UINT64_MAX);
}

static void test_they_come_in_order_of_their_addresses(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	PinnedExtent row;

	for (uint64_t number = 1; number <= 9; number += 2)
		put(store, pinned(10 - number, 5, 257));
	g_assert_cmpuint(next(store, 0, &row), ==, 1);
	g_assert_cmpuint(next(store, 3, &row), ==, 3);
	g_assert_cmpuint(next(store, 4, &row), ==, 5);
	g_assert_cmpuint(next(store, 10, &row), ==, 0);
}

static void test_those_of_a_file_are_found(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	put(store, pinned(4, 5, 257));
	put(store, pinned(2, 5, 257));
	put(store, pinned(3, 5, 300));
	put(store, pinned(1, 256, 257));
	g_assert_cmpuint(next_by(store, 5, 257, 0), ==, 2);
	g_assert_cmpuint(next_by(store, 5, 257, 3), ==, 4);
	g_assert_cmpuint(next_by(store, 5, 257, 5), ==, 0);
	g_assert_cmpuint(next_by(store, 5, 258, 0), ==, 0);
	g_assert_cmpuint(next_inode(store, 5, 0), ==, 257);
	g_assert_cmpuint(next_inode(store, 5, 258), ==, 300);
	g_assert_cmpuint(next_inode(store, 5, 301), ==, UINT64_MAX);
	g_assert_cmpuint(next_inode(store, 7, 0), ==, UINT64_MAX);
	g_assert_cmpuint(next_root(store, 0), ==, 5);
	g_assert_cmpuint(next_root(store, 6), ==, 256);
}

static void test_subvolumes_are_found_by_the_cause(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	put(store, pinned(3, 5, 257));   /* 1 */
	put(store, pinned(4, 256, 257)); /* 2 */
	put(store, pinned(6, 300, 257)); /* 1 */
	g_assert_cmpuint(next_root_for(store, 1, 0), ==, 5);
	g_assert_cmpuint(next_root_for(store, 1, 6), ==, 300);
	g_assert_cmpuint(next_root_for(store, 2, 0), ==, 256);
	g_assert_cmpuint(next_root_for(store, 2, 257), ==, UINT64_MAX);
	g_assert_cmpuint(next_root_for(store, 3, 0), ==, UINT64_MAX);
}

static void test_they_go_with_their_extent(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	PinnedExtent row;

	drop(store, 1);
	put(store, pinned(1, 5, 257));
	put(store, pinned(2, 5, 257));
	drop(store, 1);
	g_assert_cmpuint(next(store, 0, &row), ==, 2);
	g_assert_cmpuint(next_by(store, 5, 257, 0), ==, 2);
	drop(store, 2);
	drop(store, 2);
	g_assert_cmpuint(next(store, 0, &row), ==, 0);
	g_assert_cmpuint(next_root(store, 0), ==, UINT64_MAX);
}

static void test_they_go_when_all_is_matched_anew(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	PinnedExtent row;
	uint32_t object;

	g_assert_true(hash_store_new_object(store, &object, NULL));
	g_assert_true(hash_store_settle(store, is_any_live, NULL, NULL));
	put(store, pinned(1, 5, 257));
	put(store, pinned(2, 256, 300));
	g_assert_true(hash_store_unsettle(store, NULL));
	g_assert_cmpuint(next(store, 0, &row), ==, 0);
	g_assert_true(put(store, pinned(2, 5, 257)));
	g_assert_cmpuint(next(store, 0, &row), ==, 2);
}

static void test_addresses_that_no_table_has_are_at_no_one(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	PinnedExtent row;
	bool found;

	put(store, pinned(1, 5, 257));
	g_assert_true(hash_store_next_pinned(store, UINT64_MAX, &row, &found, NULL));
	g_assert_false(found);
	g_assert_cmpuint(next_root(store, UINT64_MAX), ==, UINT64_MAX);
}

static void test_there_is_room_for_so_many(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	uint64_t n = PINNED_MAX;
	PinnedExtent row;

	for (uint64_t i = 1; i <= n; i++)
		g_assert_true(put(store, pinned(i, 5, 256 + i)));
	g_assert_false(put(store, pinned(n + 1, 5, 257)));
	g_assert_cmpuint(next(store, n + 1, &row), ==, 0);
	/* A known extent may change its cause. */
	g_assert_true(put(store, pinned(n, 256, 257)));
	drop(store, 3);
	g_assert_true(put(store, pinned(n + 1, 5, 257)));
	g_assert_false(put(store, pinned(n + 2, 5, 257)));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/pinned/what-is-put-stays-in-the-store",
			test_what_is_put_stays_in_the_store);
	g_test_add_func("/pinned/sources-and-what-snapshots-hold-are-not",
			test_sources_and_what_snapshots_hold_are_not_pinned);
	g_test_add_func("/pinned/what-is-not-committed-is-lost",
			test_what_is_not_committed_is_lost);
	g_test_add_func("/pinned/an-extent-has-one-cause", test_an_extent_has_one_cause);
	g_test_add_func("/pinned/they-come-in-order-of-their-addresses",
			test_they_come_in_order_of_their_addresses);
	g_test_add_func("/pinned/those-of-a-file-are-found", test_those_of_a_file_are_found);
	g_test_add_func("/pinned/subvolumes-are-found-by-the-cause",
			test_subvolumes_are_found_by_the_cause);
	g_test_add_func("/pinned/they-go-with-their-extent", test_they_go_with_their_extent);
	g_test_add_func("/pinned/they-go-when-all-is-matched-anew",
			test_they_go_when_all_is_matched_anew);
	g_test_add_func("/pinned/addresses-that-no-table-has-are-at-no-one",
			test_addresses_that_no_table_has_are_at_no_one);
	g_test_add_func("/pinned/there-is-room-for-so-many", test_there_is_room_for_so_many);

	return g_test_run();
}
