/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/names.h"
#include "tests/store/store-fixture.h"

#include <string.h>

/* Nobody nests more directories. */
#define LEVELS_MOST 4096

static void put(HashStore *store, uint64_t subvolume, uint64_t inode, uint64_t parent_subvolume,
		uint64_t parent, const char *name)
{
	const DirectoryName directory = { .subvolume = subvolume,
					  .inode = inode,
					  .parent_subvolume = parent_subvolume,
					  .parent = parent,
					  .name = (const uint8_t *)name,
					  .name_bytes = strlen(name) };
	GError *error = NULL;

	g_assert_true(hash_store_put_directory(store, &directory, &error));
	g_assert_no_error(error);
}

static void assert_path(HashStore *store, uint64_t subvolume, uint64_t inode, const char *expected)
{
	g_autofree char *path = hash_store_directory_path(store, subvolume, inode);

	g_assert_cmpstr(path, ==, expected);
}

static void test_a_path_leads_up_to_where_the_walk_began(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	put(store, 5, 256, 5, 0, "/srv");
	put(store, 5, 257, 5, 256, "a b");
	put(store, 5, 258, 5, 257, "\xff");
	/* A subvolume in that directory, whose top directory has its name. */
	put(store, 300, 256, 5, 258, "nested");
	put(store, 300, 400, 300, 256, "c");
	assert_path(store, 5, 256, "/srv");
	assert_path(store, 5, 257, "/srv/a b");
	assert_path(store, 5, 258, "/srv/a b/\xff");
	assert_path(store, 300, 256, "/srv/a b/\xff/nested");
	assert_path(store, 300, 400, "/srv/a b/\xff/nested/c");

	/* Walks from the root of all. */
	put(store, 5, 256, 5, 0, "/");
	assert_path(store, 5, 256, "/");
	assert_path(store, 5, 257, "/a b");
}

static void test_a_path_that_is_not_whole_begins_with_a_question_mark(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autofree char *path = NULL;

	put(store, 5, 257, 5, 256, "a");
	put(store, 5, 258, 5, 257, "b");
	assert_path(store, 5, 257, "?/a");
	assert_path(store, 5, 258, "?/a/b");
	assert_path(store, 5, 999, "?");
	assert_path(store, 6, 257, "?");

	/* Directories of a damaged store that lie in each other. */
	put(store, 5, 256, 5, 258, "c");
	path = hash_store_directory_path(store, 5, 258);
	g_assert_true(g_str_has_prefix(path, "?/"));
	g_assert_true(g_str_has_suffix(path, "/c/a/b"));
}

static void test_a_path_has_a_limit_of_levels(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autofree char *longest = NULL;
	g_autofree char *beyond = NULL;

	put(store, 5, 1, 5, 0, "/srv");
	for (uint64_t level = 2; level <= LEVELS_MOST + 1; level++)
		put(store, 5, level, 5, level - 1, "d");
	longest = hash_store_directory_path(store, 5, LEVELS_MOST);
	beyond = hash_store_directory_path(store, 5, LEVELS_MOST + 1);
	g_assert_true(g_str_has_prefix(longest, "/srv/d/"));
	g_assert_cmpuint(strlen(longest), ==, 4 + 2 * (LEVELS_MOST - 1));
	g_assert_true(g_str_has_prefix(beyond, "?/d/"));
	g_assert_cmpuint(strlen(beyond), ==, 1 + 2 * LEVELS_MOST);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/names/lead-up", test_a_path_leads_up_to_where_the_walk_began);
	g_test_add_func("/names/not-whole",
			test_a_path_that_is_not_whole_begins_with_a_question_mark);
	g_test_add_func("/names/limit", test_a_path_has_a_limit_of_levels);
	return g_test_run();
}
