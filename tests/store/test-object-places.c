/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/objects.h"
#include "tests/store/store-fixture.h"

/* Only each so many ids are used, so that the search for places of gone objects takes several steps. */
#define SPACING   20
#define N_OBJECTS 3000

static int64_t count_places(const StoreFixture *fixture)
{
	g_autofree char *n = store_fixture_ask(fixture->path, "SELECT count(*) FROM place");

	return g_ascii_strtoll(n, NULL, 10);
}

static uint32_t id_of(unsigned i)
{
	return (i + 1) * SPACING;
}

static HashStore *open_filled(const StoreFixture *fixture)
{
	HashStore *store = store_fixture_open(fixture);
	GError *error = NULL;

	for (unsigned i = 0; i < N_OBJECTS; i++) {
		Object object = { .subvolume = 5, .inode = 256 + i, .state = OBJECT_SKIPPED };

		for (unsigned j = 0; j < SPACING; j++)
			g_assert_true(hash_store_new_object(store, &object.id, &error));
		g_assert_cmpuint(object.id, ==, id_of(i));
		g_assert_true(hash_store_put(store, &object, &error));
	}
	store_fixture_settle(store);
	return store;
}

static bool is_found(HashStore *store, unsigned i)
{
	GError *error = NULL;
	const Object *found;

	g_assert_true(hash_store_find(store, id_of(i), &found, &error));
	g_assert_no_error(error);
	g_assert_true(!found || found->inode == 256 + i);
	return found;
}

/* Drop @n_dropped objects, spread over all ids, and settle the rest. */
static void check_drop(unsigned n_dropped, int64_t places_left)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = open_filled(fixture);
	GError *error = NULL;

	g_assert_cmpint(count_places(fixture), ==, N_OBJECTS);
	for (unsigned i = 0; i < N_OBJECTS; i++)
		if (i * 7 % N_OBJECTS < n_dropped)
			g_assert_true(hash_store_drop(store, 5, 256 + i, &error));
	store_fixture_settle(store);

	g_assert_cmpint(count_places(fixture), ==, places_left);
	for (unsigned i = 0; i < N_OBJECTS; i++)
		g_assert_cmpint(is_found(store, i), ==, i * 7 % N_OBJECTS >= n_dropped);
}

static void test_places_of_gone_objects_are_dropped_above_a_third(void)
{
	check_drop(0, N_OBJECTS);
	check_drop(N_OBJECTS / 3 - 1, N_OBJECTS);
	check_drop(N_OBJECTS / 3, N_OBJECTS);
	check_drop(N_OBJECTS / 3 + 1, N_OBJECTS - N_OBJECTS / 3 - 1);
	check_drop(N_OBJECTS, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/object-places/dropped-above-a-third",
			test_places_of_gone_objects_are_dropped_above_a_third);
	return g_test_run();
}
