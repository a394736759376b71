/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/read-sums.h"

#include "hashstore/objects/objects.h"
#include "hashstore/objects/open-extents.h"
#include "tests/store/store-fixture.h"

#define MIB (UINT64_C(1) << 20)

static const uint64_t sums[] = { 11, 0, 13, UINT64_MAX };

static void put(HashStore *store, uint64_t address, size_t n)
{
	GError *error = NULL;

	g_assert_true(hash_store_put_read_sums(store, address, sums, n, &error));
	g_assert_no_error(error);
}

/* The first @n_sums sums are those of the extent at @address, the last one at or before @from. */
static void assert_has(HashStore *store, uint64_t from, uint64_t address, size_t n_sums)
{
	g_autoptr(GBytes) read = NULL;
	GError *error = NULL;
	uint64_t found;
	gsize bytes;
	const void *data;

	g_assert_true(hash_store_get_read_sums(store, from, &found, &read, &error));
	g_assert_no_error(error);
	g_assert_nonnull(read);
	g_assert_cmpuint(found, ==, address);
	data = g_bytes_get_data(read, &bytes);
	g_assert_cmpmem(data, bytes, sums, n_sums * sizeof(sums[0]));
}

static bool has_any(HashStore *store, uint64_t from)
{
	g_autoptr(GBytes) read = NULL;
	GError *error = NULL;
	uint64_t found;

	g_assert_true(hash_store_get_read_sums(store, from, &found, &read, &error));
	g_assert_no_error(error);
	return read;
}

static uint64_t next_new(HashStore *store, uint64_t from)
{
	GError *error = NULL;
	uint64_t found;

	g_assert_true(hash_store_next_new_read_sums(store, from, &found, &error));
	g_assert_no_error(error);
	return found;
}

static void test_the_last_extent_before_an_address_is_found(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	g_assert_false(has_any(store, UINT64_MAX));
	put(store, 2 * MIB, 4);
	put(store, 8 * MIB, 2);
	g_assert_false(has_any(store, 2 * MIB - 1));
	assert_has(store, 2 * MIB, 2 * MIB, 4);
	assert_has(store, 8 * MIB - 1, 2 * MIB, 4);
	assert_has(store, UINT64_MAX, 8 * MIB, 2);
}

static void test_what_is_put_again_is_replaced(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	put(store, MIB, 4);
	put(store, MIB, 2);
	assert_has(store, MIB, MIB, 2);
	put(store, MIB, 0);
	assert_has(store, MIB, MIB, 0);
}

static void test_what_is_put_is_new_until_it_is_taken(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;

	g_assert_cmpuint(next_new(store, 0), ==, UINT64_MAX);
	put(store, MIB, 4);
	put(store, 3 * MIB, 4);
	g_assert_cmpuint(next_new(store, 0), ==, MIB);
	g_assert_cmpuint(next_new(store, MIB + 1), ==, 3 * MIB);
	g_assert_true(hash_store_take_read_sums(store, MIB, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(next_new(store, 0), ==, 3 * MIB);
	assert_has(store, MIB, MIB, 4);
	put(store, MIB, 4);
	g_assert_cmpuint(next_new(store, 0), ==, MIB);
}

static void test_they_go_with_their_extent(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	bool has;

	put(store, MIB, 4);
	g_assert_true(hash_store_has_read_sums(store, &has, &error));
	g_assert_true(has);
	g_assert_true(hash_store_drop_extent(store, MIB, &error));
	g_assert_no_error(error);
	g_assert_true(hash_store_has_read_sums(store, &has, &error));
	g_assert_false(has);
	g_assert_cmpuint(next_new(store, 0), ==, UINT64_MAX);
}

static void test_the_last_object_before_an_inode_is_found(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	Object object = { .id = 1, .subvolume = OBJECT_EXTENTS, .inode = 5 * MIB };
	GError *error = NULL;
	const Object *found;

	g_assert_true(hash_store_put(store, &object, &error));
	g_assert_true(hash_store_find_before(store, OBJECT_EXTENTS, 5 * MIB - 1, &found, &error));
	g_assert_null(found);
	g_assert_true(hash_store_find_before(store, OBJECT_EXTENTS, UINT64_MAX, &found, &error));
	g_assert_no_error(error);
	g_assert_nonnull(found);
	g_assert_cmpuint(found->inode, ==, 5 * MIB);
	g_assert_true(hash_store_find_before(store, OBJECT_STRETCHES, UINT64_MAX, &found, &error));
	g_assert_null(found);
}

int main(int argc, char *argv[])
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/read-sums/the-last-extent-before-an-address-is-found",
			test_the_last_extent_before_an_address_is_found);
	g_test_add_func("/read-sums/what-is-put-again-is-replaced",
			test_what_is_put_again_is_replaced);
	g_test_add_func("/read-sums/what-is-put-is-new-until-it-is-taken",
			test_what_is_put_is_new_until_it_is_taken);
	g_test_add_func("/read-sums/they-go-with-their-extent", test_they_go_with_their_extent);
	g_test_add_func("/read-sums/the-last-object-before-an-inode-is-found",
			test_the_last_object_before_an_inode_is_found);
	return g_test_run();
}
