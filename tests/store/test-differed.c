/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/differed.h"

#include "hashstore/objects/open-extents.h"
#include "tests/store/store-fixture.h"

#define MIB (UINT64_C(1) << 20)

/* An extent of its own for each number. */
static ExtentStamp stamp(uint64_t number)
{
	return (ExtentStamp){ number * MIB, 100 + number };
}

static bool put(HashStore *store, ExtentStamp one, ExtentStamp other)
{
	GError *error = NULL;
	bool kept;

	g_assert_true(hash_store_put_differed(store, &one, &other, &kept, &error));
	g_assert_no_error(error);
	return kept;
}

static bool has(HashStore *store, ExtentStamp one, ExtentStamp other)
{
	GError *error = NULL;
	bool found;

	g_assert_true(hash_store_has_differed(store, &one, &other, &found, &error));
	g_assert_no_error(error);
	return found;
}

static uint64_t count(HashStore *store, ExtentStamp extent, uint64_t most)
{
	GError *error = NULL;
	uint64_t n;

	g_assert_true(hash_store_count_differed(store, &extent, most, &n, &error));
	g_assert_no_error(error);
	return n;
}

static void drop(HashStore *store, uint64_t address)
{
	GError *error = NULL;

	g_assert_true(hash_store_drop_extent(store, address, &error));
	g_assert_no_error(error);
}

static void test_a_pair_is_found_in_either_order(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	g_assert_false(has(store, stamp(1), stamp(2)));
	g_assert_true(put(store, stamp(2), stamp(1)));
	g_assert_true(has(store, stamp(1), stamp(2)));
	g_assert_true(has(store, stamp(2), stamp(1)));
	g_assert_false(has(store, stamp(1), stamp(3)));
}

static void test_a_drop_that_is_rolled_back_leaves_the_pair(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;

	g_assert_true(put(store, stamp(1), stamp(2)));
	check_done(hash_store_commit(store, &error), &error);
	drop(store, MIB);
	g_assert_false(has(store, stamp(1), stamp(2)));
	check_done(hash_store_roll_back(store, &error), &error);
	g_assert_true(has(store, stamp(1), stamp(2)));
}

static void test_a_known_pair_is_not_kept_again(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	g_assert_true(put(store, stamp(1), stamp(2)));
	g_assert_false(put(store, stamp(1), stamp(2)));
	g_assert_false(put(store, stamp(2), stamp(1)));
	g_assert_cmpuint(count(store, stamp(1), 9), ==, 1);
}

static void test_pairs_stay_in_the_store(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	put(store, stamp(1), stamp(2));
	g_assert_true(hash_store_commit(store, NULL));
	hash_store_close(g_steal_pointer(&store));
	store = store_fixture_open(fixture);
	g_assert_true(has(store, stamp(1), stamp(2)));
	g_assert_cmpuint(count(store, stamp(2), 9), ==, 1);
}

static void test_another_extent_at_the_address_has_no_pairs(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	ExtentStamp rewritten = { stamp(1).address, 999 };

	put(store, stamp(1), stamp(2));
	g_assert_false(has(store, rewritten, stamp(2)));
	g_assert_cmpuint(count(store, rewritten, 9), ==, 0);
	g_assert_true(put(store, rewritten, stamp(2)));
	g_assert_true(has(store, stamp(2), rewritten));
}

static void test_no_more_are_counted_than_are_asked_for(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	for (uint64_t i = 2; i < 12; i++)
		put(store, stamp(i), stamp(1));
	g_assert_cmpuint(count(store, stamp(1), 3), ==, 3);
	g_assert_cmpuint(count(store, stamp(1), 100), ==, 10);
	g_assert_cmpuint(count(store, stamp(2), 3), ==, 1);
}

static void test_pairs_go_with_either_extent(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	ExtentStamp older = { stamp(2).address, 7 };

	put(store, stamp(1), stamp(2));
	put(store, stamp(1), older);
	put(store, stamp(3), stamp(1));
	put(store, stamp(3), stamp(2));
	drop(store, stamp(2).address);
	g_assert_false(has(store, stamp(1), stamp(2)));
	g_assert_false(has(store, stamp(1), older));
	g_assert_cmpuint(count(store, stamp(1), 9), ==, 1);
	g_assert_cmpuint(count(store, stamp(3), 9), ==, 1);
	drop(store, stamp(3).address);
	g_assert_cmpuint(count(store, stamp(1), 9), ==, 0);
	drop(store, stamp(3).address);
}

static void test_an_extent_may_differ_from_itself(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	g_assert_true(put(store, stamp(1), stamp(1)));
	g_assert_false(put(store, stamp(1), stamp(1)));
	g_assert_true(has(store, stamp(1), stamp(1)));
	g_assert_false(has(store, stamp(1), stamp(2)));
	g_assert_cmpuint(count(store, stamp(1), 9), ==, 1);
	drop(store, stamp(1).address);
	g_assert_false(has(store, stamp(1), stamp(1)));
	g_assert_true(put(store, stamp(1), stamp(1)));
}

static void test_there_is_room_for_so_many(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	uint64_t n = DIFFERED_PAIRS_MAX;

	for (uint64_t i = 0; i < n; i++)
		g_assert_true(put(store, stamp(2 + i), stamp(1)));
	g_assert_false(put(store, stamp(n + 2), stamp(1)));
	g_assert_false(has(store, stamp(n + 2), stamp(1)));
	drop(store, stamp(5).address);
	g_assert_true(put(store, stamp(n + 2), stamp(1)));
	drop(store, stamp(1).address);
	g_assert_true(put(store, stamp(1), stamp(2)));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/differed/a-pair-is-found-in-either-order",
			test_a_pair_is_found_in_either_order);
	g_test_add_func("/differed/a-known-pair-is-not-kept-again",
			test_a_known_pair_is_not_kept_again);
	g_test_add_func("/differed/a-drop-that-is-rolled-back-leaves-the-pair",
			test_a_drop_that_is_rolled_back_leaves_the_pair);
	g_test_add_func("/differed/pairs-stay-in-the-store", test_pairs_stay_in_the_store);
	g_test_add_func("/differed/another-extent-at-the-address-has-no-pairs",
			test_another_extent_at_the_address_has_no_pairs);
	g_test_add_func("/differed/no-more-are-counted-than-are-asked-for",
			test_no_more_are_counted_than_are_asked_for);
	g_test_add_func("/differed/pairs-go-with-either-extent", test_pairs_go_with_either_extent);
	g_test_add_func("/differed/an-extent-may-differ-from-itself",
			test_an_extent_may_differ_from_itself);
	g_test_add_func("/differed/there-is-room-for-so-many", test_there_is_room_for_so_many);

	return g_test_run();
}
