/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/history.h"
#include "hashstore/objects/objects.h"
#include "hashstore/objects/pinned.h"
#include "hashstore/store-check.h"
#include "tests/store/store-fixture.h"

#include <sqlite3.h>
#include <string.h>

/* A store with objects, anchors, notes and what else is known of extents; and with a pass. */
static HashStore *open_full(const StoreFixture *fixture)
{
	const PinnedExtent pinned = {
		.extent = { 1 << 20, 7 }, .bytes = 4096, .cause = 1, .root = 5
	};
	PassRecord pass = { .mount_point = (char *)"/srv", .freed_bytes = 4711 };
	GError *error = NULL;
	HashStore *store;
	bool kept;

	store_fixture_fill(fixture);
	store = store_fixture_open(fixture);
	g_assert_true(hash_store_put_pinned(store, &pinned, &kept, &error));
	g_assert_true(hash_store_set_note(store, "note", "text", &error));
	g_assert_true(hash_store_put_pass(store, &pass, &error));
	g_assert_true(hash_store_commit(store, &error));
	g_assert_no_error(error);
	return store;
}

static void assert_sound(HashStore *store)
{
	g_autoptr(GPtrArray) problems = NULL;
	GError *error = NULL;

	g_assert_true(hash_store_check(store, &problems, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(problems->len, ==, 0);
}

static void assert_forgotten(HashStore *store)
{
	g_autofree char *note = NULL;
	GError *error = NULL;
	uint64_t objects, anchors;
	uint32_t segments;
	PinnedExtent pinned;
	PassTotals totals;
	bool found;

	g_assert_true(hash_store_count_objects(store, &objects, &error));
	g_assert_true(hash_store_count_anchors(store, &anchors, &segments, &error));
	g_assert_true(hash_store_next_pinned(store, 0, &pinned, &found, &error));
	g_assert_true(hash_store_get_note(store, "note", &note, &error));
	g_assert_true(hash_store_pass_totals(store, &totals, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(objects, ==, 0);
	g_assert_cmpuint(anchors, ==, 0);
	g_assert_cmpuint(segments, ==, 0);
	g_assert_false(found);
	g_assert_null(note);
	g_assert_cmpuint(totals.passes, ==, 1);
	g_assert_cmpuint(totals.freed_bytes, ==, 4711);
	g_assert_cmpuint(hash_store_settled_below(store), ==, hash_store_next_object(store));
}

/* The single result of a query, as text. */
/* Tables with their numbers of rows, and numbers that are kept; but not of the history, and no ids. */
static char *contents(const char *path)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *names = NULL;
	g_autofree char *numbers = NULL;
	g_auto(GStrv) tables = NULL;

	names = store_fixture_ask(
		path, "SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema"
		      " WHERE type = 'table' AND name NOT IN ('meta', 'pass', 'skipped')"
		      " ORDER BY name)");
	tables = g_strsplit(names, ",", -1);
	for (size_t i = 0; tables[i]; i++) {
		g_autofree char *sql = g_strdup_printf("SELECT count(*) FROM %s", tables[i]);
		g_autofree char *n = store_fixture_ask(path, sql);

		g_string_append_printf(text, "%s: %s\n", tables[i], n);
	}
	numbers = store_fixture_ask(
		path, "SELECT group_concat(name || ' ' || value) FROM (SELECT name, value FROM meta"
		      " WHERE name NOT IN ('secret', 'number', 'next_object', 'settled_below')"
		      " AND (name, value) <> ('dead', 0) ORDER BY name)");
	g_string_append(text, numbers);
	return g_string_free(g_steal_pointer(&text), false);
}

/* A table that a later version adds is to be forgotten, too. */
static void test_what_is_left_is_what_an_empty_store_has(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(StoreFixture) fresh = store_fixture_new();
	g_autoptr(HashStore) store = NULL;
	g_autofree char *before = NULL;
	g_autofree char *left = NULL;
	g_autofree char *empty = NULL;

	hash_store_close(store_fixture_open(fresh));
	empty = contents(fresh->path);
	store_fixture_fill_tables(fixture);
	store = store_fixture_open(fixture);
	g_assert_true(hash_store_drop(store, 5, FIXTURE_FILES + 1, NULL));
	g_assert_true(hash_store_commit(store, NULL));
	before = contents(fixture->path);
	g_assert_true(hash_store_forget_all(store, NULL));
	g_assert_true(hash_store_commit(store, NULL));
	left = contents(fixture->path);
	g_assert_null(strstr(before, ": 0\n"));
	g_assert_cmpstr(left, ==, empty);
}

static void test_all_but_the_history_is_forgotten(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = open_full(fixture);
	uint32_t next = hash_store_next_object(store);
	const Anchor late = { 1, 1, 0 };

	/* Anchors in memory, too. */
	g_assert_true(hash_store_put_anchor(store, &late, NULL));
	g_assert_true(hash_store_forget_all(store, NULL));
	g_assert_true(hash_store_commit(store, NULL));
	g_assert_cmpuint(hash_store_next_object(store), ==, next);
	assert_forgotten(store);
	assert_sound(store);

	g_clear_pointer(&store, hash_store_close);
	store = store_fixture_open(fixture);
	assert_forgotten(store);
	assert_sound(store);
}

static void test_what_was_not_committed_is_not_forgotten(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = open_full(fixture);
	uint64_t objects;

	g_assert_true(hash_store_forget_all(store, NULL));
	g_clear_pointer(&store, hash_store_close);
	store = store_fixture_open(fixture);
	g_assert_true(hash_store_count_objects(store, &objects, NULL));
	g_assert_cmpuint(objects, ==, 1000);
}

static void test_what_comes_afterwards_is_kept(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = open_full(fixture);
	Object object = { .state = OBJECT_DONE, .inode = 1, .name = (const uint8_t *)"" };
	uint32_t settled_below;
	uint64_t objects;

	g_assert_true(hash_store_forget_all(store, NULL));
	settled_below = hash_store_settled_below(store);
	g_assert_true(hash_store_new_object(store, &object.id, NULL));
	g_assert_true(hash_store_put(store, &object, NULL));
	g_assert_true(hash_store_put_anchor(store, &(Anchor){ 1, object.id, 0 }, NULL));
	g_assert_true(hash_store_commit(store, NULL));
	g_assert_cmpuint(object.id, >=, settled_below);
	g_assert_true(hash_store_count_objects(store, &objects, NULL));
	g_assert_cmpuint(objects, ==, 1);
	assert_sound(store);
}

static void test_a_rollback_leaves_the_last_commit(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = open_full(fixture);
	Object object = { .state = OBJECT_DONE, .inode = 1, .name = (const uint8_t *)"" };
	uint32_t next = hash_store_next_object(store);
	uint64_t objects, anchors, anchors_before;
	uint32_t segments;
	PinnedExtent pinned;
	bool is_pinned;

	g_assert_true(hash_store_roll_back(store, NULL)); /* nothing */
	g_assert_true(hash_store_count_anchors(store, &anchors_before, &segments, NULL));
	g_assert_true(hash_store_new_object(store, &object.id, NULL));
	g_assert_true(hash_store_put(store, &object, NULL));
	g_assert_true(hash_store_put_anchor(store, &(Anchor){ 1, object.id, 0 }, NULL));
	g_assert_true(hash_store_drop_pinned(store, 1 << 20, NULL));

	g_assert_true(hash_store_roll_back(store, NULL));
	g_assert_true(
		hash_store_put_pass(store, &(PassRecord){ .mount_point = (char *)"/srv" }, NULL));
	g_assert_true(hash_store_commit(store, NULL));

	g_assert_cmpuint(hash_store_next_object(store), ==, next);
	g_assert_true(hash_store_count_objects(store, &objects, NULL));
	g_assert_cmpuint(objects, ==, 1000);
	g_assert_true(hash_store_count_anchors(store, &anchors, &segments, NULL));
	g_assert_cmpuint(anchors, ==, anchors_before);
	g_assert_true(hash_store_find_pinned(store, 1 << 20, &pinned, &is_pinned, NULL));
	g_assert_true(is_pinned);
}

static void test_a_number_is_lowered_only(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	uint64_t number;

	g_assert_true(hash_store_set_number(store, "number", 7, NULL));
	g_assert_true(hash_store_lower_number(store, "number", 9, NULL));
	g_assert_true(hash_store_get_number(store, "number", &number, NULL));
	g_assert_cmpuint(number, ==, 7);
	g_assert_true(hash_store_lower_number(store, "number", 5, NULL));
	g_assert_true(hash_store_get_number(store, "number", &number, NULL));
	g_assert_cmpuint(number, ==, 5);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/forget/all", test_all_but_the_history_is_forgotten);
	g_test_add_func("/forget/empty", test_what_is_left_is_what_an_empty_store_has);
	g_test_add_func("/forget/uncommitted", test_what_was_not_committed_is_not_forgotten);
	g_test_add_func("/forget/afterwards", test_what_comes_afterwards_is_kept);
	g_test_add_func("/forget/rollback", test_a_rollback_leaves_the_last_commit);
	g_test_add_func("/forget/lower", test_a_number_is_lowered_only);
	return g_test_run();
}
