/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/groups.h"
#include "hashstore/objects/objects.h"
#include "tests/store/store-fixture.h"

#include <stdatomic.h>

#define DIGEST(i) anchor_digest((i + 1) * UINT64_C(90000000000000))

static uint32_t put_object(HashStore *store, ObjectState state)
{
	GError *error = NULL;
	Object object = { .state = state, .subvolume = 5, .size_bytes = 4096, .digest = 7 };

	g_assert_true(hash_store_new_object(store, &object.id, &error));
	object.inode = 1000 + object.id;
	object.name = (const uint8_t *)"name";
	object.name_bytes = 4;
	g_assert_true(hash_store_put(store, &object, &error));
	g_assert_no_error(error);

	return object.id;
}

/* Put anchors of @object at blocks @first, @first + @step and so on; those of all objects there are equal. */
static void put_anchors(HashStore *store, uint32_t object, uint32_t first, uint32_t end,
			uint32_t step)
{
	GError *error = NULL;

	for (uint32_t i = first; i < end; i += step) {
		const Anchor anchor = { DIGEST(i), object, i };

		g_assert_true(hash_store_put_anchor(store, &anchor, &error));
	}
	g_assert_no_error(error);
}

static bool is_found(uint32_t object, void *data)
{
	const Object *found;

	g_assert_true(hash_store_find(data, object, &found, NULL));

	return found;
}

static void settle(HashStore *store)
{
	GError *error = NULL;

	g_assert_true(hash_store_commit(store, &error));
	g_assert_true(hash_store_settle(store, is_found, store, &error));
	g_assert_true(hash_store_commit(store, &error));
	g_assert_no_error(error);
}

static void renew(HashStore *store, const uint32_t *objects, size_t n_objects)
{
	GError *error = NULL;

	g_assert_true(hash_store_renew(store, objects, n_objects, &error));
	g_assert_true(hash_store_commit(store, &error));
	g_assert_no_error(error);
}

/* The number of groups with both @old and @new. */
static unsigned count_pairs(HashStore *store, uint32_t old, uint32_t new)
{
	GError *error = NULL;
	g_autoptr(Groups) groups = groups_open(store, is_found, store, &error);

	for (unsigned n = 0;; n++) {
		const Group *group;

		g_assert_true(groups_next(groups, &group, &error));
		g_assert_no_error(error);
		if (!group)
			return n;
		g_assert_cmpuint(group->n_members, ==, 2);
		g_assert_cmpuint(group->members[0].object, ==, old);
		g_assert_cmpuint(group->members[1].object, ==, new);
		g_assert_cmpuint(group->members[0].block, ==, group->members[1].block);
		g_assert_cmpuint(group->members[0].digest, ==, DIGEST(group->members[0].block));
	}
}

static void test_renewed_object_is_matched_again_with_all_its_anchors(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	uint32_t large = put_object(store, OBJECT_DONE);
	uint32_t other = put_object(store, OBJECT_DONE);
	uint32_t new;

	put_anchors(store, large, 0, 300000, 1);
	put_anchors(store, other, 0, 300000, 3000);
	settle(store);
	g_assert_cmpuint(count_pairs(store, large, other), ==, 0);

	for (int pass = 0; pass < 3; pass++) {
		new = hash_store_next_object(store);
		renew(store, &other, 1);
		g_assert_false(is_found(other, store));
		g_assert_true(is_found(new, store));
		g_assert_cmpuint(count_pairs(store, large, new), ==, 100);

		g_clear_pointer(&store, hash_store_close);
		store = store_fixture_open(fixture);
		g_assert_cmpuint(count_pairs(store, large, new), ==, 100);
		settle(store);
		g_assert_cmpuint(count_pairs(store, large, new), ==, 0);
		other = new;
	}
}

static uint64_t count_anchors(HashStore *store)
{
	GError *error = NULL;
	uint64_t n_anchors;
	uint32_t n_segments;

	g_assert_true(hash_store_count_anchors(store, &n_anchors, &n_segments, &error));
	g_assert_no_error(error);

	return n_anchors;
}

static bool has_many_dead(HashStore *store, uint64_t dropped_blocks)
{
	GError *error = NULL;
	bool has_many;

	g_assert_true(hash_store_has_many_dead(store, dropped_blocks, &has_many, &error));
	g_assert_no_error(error);

	return has_many;
}

static void test_former_anchors_are_dropped_once_they_are_many(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	atomic_bool stop = false; /* outlives the store */
	g_autoptr(HashStore) store = NULL;
	uint32_t small, large;
	GError *error = NULL;

	fixture->options.stop = &stop;
	store = store_fixture_open(fixture);
	small = put_object(store, OBJECT_DONE);
	large = put_object(store, OBJECT_DONE);
	put_anchors(store, small, 0, 30000, 30);
	put_anchors(store, large, 0, 30000, 1);
	/* So that less than half of the objects die. */
	for (uint32_t i = 0; i < 3; i++)
		put_anchors(store, put_object(store, OBJECT_DONE), 30000 + i, 30001 + i, 1);
	settle(store);
	renew(store, &small, 1);
	settle(store);
	g_assert_cmpuint(count_anchors(store), ==, 32003);
	g_assert_false(has_many_dead(store, 0));

	renew(store, &large, 1);
	settle(store);
	g_assert_cmpuint(count_anchors(store), ==, 62003);
	g_assert_true(has_many_dead(store, 0));

	atomic_store(&stop, true);
	g_assert_true(hash_store_drop_dead(store, is_found, store, &error));
	atomic_store(&stop, false);
	g_assert_cmpuint(count_anchors(store), ==, 62003);

	g_assert_true(hash_store_drop_dead(store, is_found, store, &error));
	g_assert_true(hash_store_commit(store, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(count_anchors(store), ==, 31003);
	g_assert_false(has_many_dead(store, 0));
	g_assert_false(has_many_dead(store, 15000));
	g_assert_true(has_many_dead(store, 40000));
	small = hash_store_next_object(store) - 2;
	large = hash_store_next_object(store) - 1;
	renew(store, &large, 1);
	g_assert_cmpuint(count_pairs(store, small, hash_store_next_object(store) - 1), ==, 1000);
}

static void test_row_of_a_renewed_object_stays_as_it_is(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	uint32_t old = put_object(store, OBJECT_DONE);
	const Object *found;
	uint64_t n;

	settle(store);
	renew(store, &old, 1);
	g_assert_true(hash_store_find(store, old + 1, &found, NULL));
	g_assert_cmpuint(found->inode, ==, 1000 + old);
	g_assert_cmpuint(found->size_bytes, ==, 4096);
	g_assert_cmpuint(found->digest, ==, 7);
	g_assert_cmpmem(found->name, found->name_bytes, "name", 4);
	g_assert_true(hash_store_count_objects(store, &n, NULL));
	g_assert_cmpuint(n, ==, 1);
	g_assert_cmpuint(hash_store_settled_below(store), ==, old + 1);
}

static void test_what_has_no_fingerprint_is_not_renewed(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	uint32_t objects[] = {
		put_object(store, OBJECT_SKIPPED),
		put_object(store, OBJECT_HALF),
		77,
	};
	uint32_t next;

	settle(store);
	next = hash_store_next_object(store);
	renew(store, objects, G_N_ELEMENTS(objects));
	g_assert_cmpuint(hash_store_next_object(store), ==, next);
	g_assert_true(is_found(objects[0], store));
	g_assert_true(is_found(objects[1], store));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/renewal/renewed-object-is-matched-again-with-all-its-anchors",
			test_renewed_object_is_matched_again_with_all_its_anchors);
	g_test_add_func("/renewal/former-anchors-are-dropped-once-they-are-many",
			test_former_anchors_are_dropped_once_they_are_many);
	g_test_add_func("/renewal/row-of-a-renewed-object-stays-as-it-is",
			test_row_of_a_renewed_object_stays_as_it_is);
	g_test_add_func("/renewal/what-has-no-fingerprint-is-not-renewed",
			test_what_has_no_fingerprint_is_not_renewed);

	return g_test_run();
}
