/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/equals.h"
#include "tests/store/store-fixture.h"

#define SIZE UINT64_C(8192)

/* Put an object with the digest of its whole; only an OBJECT_DONE one has that anchor. */
static Object put(HashStore *store, uint64_t inode, uint64_t digest, uint64_t size_bytes)
{
	Object object = {
		.inode = inode, .size_bytes = size_bytes, .digest = digest, .state = OBJECT_DONE
	};
	GError *error = NULL;

	g_assert_true(hash_store_new_object(store, &object.id, &error));
	g_assert_true(hash_store_put(store, &object, &error));
	const Anchor whole = { digest, object.id, ANCHOR_WHOLE_BLOCK };
	g_assert_true(hash_store_put_anchor(store, &whole, &error));
	/* An equal digest of a few blocks does not count. */
	const Anchor few = { digest + 1, object.id, 0 };
	g_assert_true(hash_store_put_anchor(store, &few, &error));
	return object;
}

static void commit(HashStore *store)
{
	GError *error = NULL;

	g_assert_true(hash_store_commit(store, &error));
	g_assert_no_error(error);
}

/* The inodes that equal @object, in order, as one text. */
static char *find(HashStore *store, const Object *object, size_t most)
{
	GError *error = NULL;
	g_autoptr(Equals) equals = equals_open(store, &error);
	GString *text = g_string_new(NULL);
	const GArray *ids;
	bool has_more;

	g_assert_no_error(error);
	g_assert_true(equals_find(equals, object, most, &ids, &has_more, &error));
	for (guint i = 0; i < ids->len; i++) {
		Object found;
		bool is_there;

		g_assert_true(hash_store_peek(store, g_array_index(ids, uint32_t, i), &found,
					      &is_there, &error));
		g_assert_true(is_there);
		g_string_append_printf(text, "%" G_GUINT64_FORMAT " ", found.inode);
	}
	g_string_append(text, has_more ? "more" : "");
	return g_string_free(text, FALSE);
}

static void assert_finds(HashStore *store, const Object *object, size_t most, const char *expected)
{
	g_autofree char *found = find(store, object, most);

	g_assert_cmpstr(found, ==, expected);
}

static void test_equals_are_found_in_all_segments(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	Object one = put(store, 1, 77, SIZE);

	put(store, 2, 78, SIZE);
	put(store, 3, 77, SIZE);
	commit(store);
	for (uint64_t i = 10; i < 2000; i++)
		put(store, i, i << 32, SIZE);
	put(store, 4, 77, SIZE);
	commit(store);

	assert_finds(store, &one, 10, "3 4 ");
	assert_finds(store, &one, 2, "3 4 ");
	assert_finds(store, &one, 1, "3 more");
	assert_finds(store, &one, 0, "more");
}

static void test_objects_of_another_length_or_version_are_no_equals(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	Object one = put(store, 1, 77, SIZE);
	GError *error = NULL;

	put(store, 2, 77, 2 * SIZE);
	put(store, 3, 77, SIZE);
	put(store, 4, 77, SIZE);
	put(store, 5, 77, SIZE);
	commit(store);
	/* The anchors of the old versions stay until a merge. */
	g_assert_true(hash_store_drop(store, 0, 3, &error));
	put(store, 4, 99, SIZE);
	commit(store);

	assert_finds(store, &one, 10, "5 ");
}

static void test_an_object_like_no_other_has_no_equals(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	Object one = put(store, 1, 77, SIZE);
	Object last = put(store, 2, UINT64_MAX - 1, SIZE);

	commit(store);
	assert_finds(store, &one, 10, "");
	assert_finds(store, &last, 10, "");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/equals/in-all-segments", test_equals_are_found_in_all_segments);
	g_test_add_func("/equals/other-versions",
			test_objects_of_another_length_or_version_are_no_equals);
	g_test_add_func("/equals/none", test_an_object_like_no_other_has_no_equals);
	return g_test_run();
}
