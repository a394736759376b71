/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/history.h"
#include "hashstore/objects/objects.h"
#include "hashstore/store-check.h"
#include "hashstore/store-size.h"
#include "tests/store/store-fixture.h"

#include <string.h>

/* The problems of the store, one per line. */
static char *problems_of(const StoreFixture *fixture)
{
	GError *error = NULL;
	g_autoptr(HashStore) store = hash_store_open_to_read(fixture->path, &error);
	g_autoptr(GPtrArray) problems = NULL;

	g_assert_no_error(error);
	g_assert_true(hash_store_check(store, &problems, &error));
	g_assert_no_error(error);
	g_ptr_array_add(problems, NULL);

	return g_strjoinv("\n", (char **)problems->pdata);
}

static void assert_sound(const StoreFixture *fixture)
{
	g_autofree char *problems = problems_of(fixture);

	g_assert_cmpstr(problems, ==, "");
}

static void test_a_store_in_order_has_no_problems(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();

	store_fixture_fill(fixture);
	g_autofree char *before = store_fixture_state(fixture->path);
	assert_sound(fixture);
	g_autofree char *after = store_fixture_state(fixture->path);
	g_assert_cmpstr(before, ==, after);

	/* An empty store, and one that is being written. */
	g_autoptr(StoreFixture) empty = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(empty);
	Object object = { .inode = 256 };
	GError *error = NULL;
	assert_sound(empty);
	g_assert_true(hash_store_new_object(store, &object.id, &error));
	g_assert_true(hash_store_put(store, &object, &error));
	assert_sound(empty);
	g_assert_true(hash_store_commit(store, &error));
	assert_sound(empty);
}

/* Each kind of damage, made by another program, and its message. */
static void test_damage_is_found(void)
{
	static const struct {
		const char *sql;
		const char *problem;
	} cases[] = {
		{ "DELETE FROM object WHERE inode = 300", "kept is wrong by -1" },
		{ "UPDATE object SET id = 100000 WHERE inode = 300", "1 objects have ids that" },
		{ "DELETE FROM place WHERE inode = 300", "1 objects are not found by" },
		{ "UPDATE place SET inode = 301 WHERE inode = 300", "1 objects are not found by" },
		{ "UPDATE object SET record = x'ff' WHERE inode = 300", "record of object 45 " },
		{ "UPDATE meta SET value = 5000 WHERE name = 'settled_below'", "do not exist yet" },
		{ "INSERT INTO half VALUES (100001, 1, x'00')", "1 half-read files" },
		{ "INSERT INTO pinned VALUES (4096, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 4096, 0)",
		  "1 extents are pinned" },
		{ "INSERT INTO differed VALUES (1, 2, 3, 4)", "from one side alone" },
		{ "INSERT INTO page VALUES (100000, x'00')",
		  "not those that segments have (1 more)" },
		{ "DELETE FROM page WHERE id = (SELECT max(id) FROM page)", "it is not there" },
		{ "DELETE FROM page WHERE id = (SELECT min(id) FROM page)",
		  "page 0: it is not there" },
		{ "UPDATE page SET entries = zeroblob(100) WHERE id = (SELECT min(id) FROM page)",
		  "page 0: it is not what was written" },
		{ "UPDATE page SET entries = zeroblob(5000)", "it is too long" },
		{ "UPDATE segment SET anchors = anchors + 1", "and its row says 10001" },
		{ "UPDATE segment SET max_object = 500", "of an object that it cannot have" },
		{ "UPDATE meta SET value = 900 WHERE name = 'next_object'",
		  "of an object that it cannot have" },
		{ "UPDATE fence SET digests = randomblob(length(digests))",
		  "its index does not fit" },
		{ "UPDATE segment SET fences = x'ffffffff'", "its index does not fit" },
		{ "DELETE FROM fence", "its index does not fit" },
		{ "DROP TABLE fence", "no such table: fence" },
		{ "UPDATE segment SET first_page = 9223372036854775807",
		  "a segment's row is not valid" },
		{ "UPDATE segment SET pages = 4294967295, fences = x''",
		  "a segment's row is not valid" },
		{ "UPDATE page SET entries = (SELECT entries FROM page AS first ORDER BY id LIMIT "
		  "1)"
		  " WHERE id = (SELECT min(id) + 1 FROM page)",
		  "page 1: its anchors are not in order" },
		{ "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'pinned_by'",
		  "the file:" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(StoreFixture) fixture = store_fixture_new();

		store_fixture_fill(fixture);
		assert_sound(fixture);
		store_fixture_sql(fixture->path, cases[i].sql);
		g_autofree char *problems = problems_of(fixture);
		if (!strstr(problems, cases[i].problem))
			g_error("after %s: \"%s\" does not say \"%s\"", cases[i].sql, problems,
				cases[i].problem);
	}
}

static void test_parts_are_counted(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	GError *error = NULL;
	uint64_t sum_bytes = 0;
	StoreSize size;

	store_fixture_fill(fixture);
	g_autoptr(HashStore) store = hash_store_open_to_read(fixture->path, &error);
	g_assert_true(hash_store_size(store, &size, &error));
	g_assert_cmpuint(size.rows[STORE_PART_OBJECTS], ==, 1000);
	g_assert_cmpuint(size.rows[STORE_PART_ANCHORS], ==, 10000);
	g_assert_cmpuint(size.rows[STORE_PART_HISTORY], ==, 0);
	g_assert_cmpuint(size.data_bytes, ==, 0);
	if (!size.has_bytes) {
		g_test_skip("SQLite was built without dbstat");
		return;
	}

	for (size_t i = 0; i < N_STORE_PARTS; i++)
		sum_bytes += size.bytes[i];
	g_assert_cmpuint(size.bytes[STORE_PART_OBJECTS], >, 1000 * 10);
	g_assert_cmpuint(size.bytes[STORE_PART_ANCHORS], >, 10000 * 4);
	/* The whole file, except pages that only SQLite uses (the map of auto_vacuum). */
	g_assert_cmpuint(sum_bytes + size.wal_bytes, <=, hash_store_file_bytes(store));
	g_assert_cmpuint(sum_bytes + size.wal_bytes + 65536, >=, hash_store_file_bytes(store));
}

static void test_data_is_that_of_files_and_extents(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	GError *error = NULL;
	StoreSize size;

	fixture->options.kind = "btrfs";
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	const Object objects[] = {
		{ .subvolume = OBJECT_EXTENTS, .inode = 1 << 20, .size_bytes = 1000 },
		{ .subvolume = OBJECT_STRETCHES, .inode = 7, .size_bytes = 500 },
		{ .subvolume = 5, .inode = 257, .size_bytes = 30 },
		{ .subvolume = 5, .inode = 258, .size_bytes = 4, .state = OBJECT_SKIPPED },
	};
	for (size_t i = 0; i < G_N_ELEMENTS(objects); i++) {
		Object object = objects[i];

		g_assert_true(hash_store_new_object(store, &object.id, &error));
		g_assert_true(hash_store_put(store, &object, &error));
	}
	g_assert_true(hash_store_commit(store, &error));
	g_assert_true(hash_store_size(store, &size, &error));
	g_assert_cmpuint(size.data_bytes, ==, 1030);
	g_assert_cmpuint(size.rows[STORE_PART_OBJECTS], ==, 4);
}

static void test_vacuum_gives_back_what_is_free(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	GError *error = NULL;
	uint64_t needed_bytes, before_bytes, after_bytes;

	store_fixture_fill(fixture);
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	for (uint64_t inode = 256; inode < 1200; inode++)
		g_assert_true(hash_store_drop(store, 0, inode, &error));
	g_assert_true(hash_store_commit(store, &error));
	before_bytes = hash_store_file_bytes(store);

	g_assert_true(hash_store_vacuum_needs(store, &needed_bytes, &error));
	g_assert_cmpuint(needed_bytes, >, 8192);
	g_assert_true(hash_store_vacuum(store, &error));
	after_bytes = hash_store_file_bytes(store);
	g_assert_cmpuint(after_bytes, <, before_bytes);
	g_assert_cmpuint(needed_bytes, <=, 3 * before_bytes);
	assert_sound(fixture);
	g_clear_pointer(&store, hash_store_close);

	/* The store can still be used. */
	store = store_fixture_open(fixture);
	const Object *found;
	g_assert_true(hash_store_find_at(store, 0, 1255, &found, &error));
	g_assert_nonnull(found);
	uint64_t anchors;
	uint32_t segments;
	g_assert_true(hash_store_count_anchors(store, &anchors, &segments, &error));
	g_assert_cmpuint(anchors, ==, 10000);
}

/* sum() of SQLite fails where whole numbers overflow. */
static void test_counts_of_a_damaged_store_fail_nothing(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	GError *error = NULL;
	uint64_t anchors;
	uint32_t segments;
	StoreSize size;

	store_fixture_fill(fixture);
	store_fixture_sql(fixture->path, "UPDATE segment SET anchors = 0x7fffffffffffffff;"
					 "INSERT INTO segment SELECT id + 1, anchors, first_page,"
					 " 0x7fffffffffffffff, first_fence, min_object, max_object,"
					 " live_objects, fences FROM segment;");

	g_autofree char *problems = problems_of(fixture);
	g_assert_nonnull(strstr(problems, "the pages of anchors are not those that segments have"));
	g_autoptr(HashStore) store = hash_store_open_to_read(fixture->path, &error);
	g_assert_no_error(error);
	g_assert_true(hash_store_count_anchors(store, &anchors, &segments, &error));
	g_assert_cmpuint(anchors, ==, INT64_MAX);
	g_assert_true(hash_store_size(store, &size, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(size.rows[STORE_PART_ANCHORS], ==, INT64_MAX);
}

static void test_vacuum_is_refused_while_a_pass_writes(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();

	store_fixture_fill(fixture);
	g_autoptr(HashStore) pass = store_fixture_open(fixture);
	g_assert_nonnull(pass);
	store_fixture_refused(fixture, HASH_STORE_ERROR_IN_USE, "another process writes the store");
}

static void test_old_passes_are_forgotten_save_in_the_totals(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	PassTotals totals;
	uint64_t n;

	for (int64_t i = 1; i <= 10; i++) {
		PassRecord pass = { .started_usec = i * 100,
				    .ended_usec = i * 100 + 50,
				    .freed_bytes = 7 };

		g_assert_true(hash_store_put_pass(store, &pass, &error));
	}
	g_assert_true(hash_store_drop_passes_before(store, 450, &n, &error));
	g_assert_cmpuint(n, ==, 3);
	g_assert_true(hash_store_drop_passes_before(store, 450, &n, &error));
	g_assert_cmpuint(n, ==, 0);
	g_assert_true(hash_store_commit(store, &error));
	g_assert_true(hash_store_pass_totals(store, &totals, &error));
	g_assert_cmpuint(totals.passes, ==, 10);
	g_assert_cmpuint(totals.freed_bytes, ==, 70);

	g_autoptr(PassCursor) cursor = pass_cursor_open(store, &error);
	const PassRecord *last;
	unsigned n_left = 0;
	int64_t oldest = 0;
	while (pass_cursor_next(cursor, &last, &error) && last) {
		n_left++;
		oldest = last->ended_usec;
	}
	g_assert_cmpuint(n_left, ==, 7);
	g_assert_cmpint(oldest, ==, 450);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/check/in-order", test_a_store_in_order_has_no_problems);
	g_test_add_func("/check/damage", test_damage_is_found);
	g_test_add_func("/size/parts", test_parts_are_counted);
	g_test_add_func("/size/data", test_data_is_that_of_files_and_extents);
	g_test_add_func("/size/damage", test_counts_of_a_damaged_store_fail_nothing);
	g_test_add_func("/vacuum/gives-back", test_vacuum_gives_back_what_is_free);
	g_test_add_func("/vacuum/in-use", test_vacuum_is_refused_while_a_pass_writes);
	g_test_add_func("/history/old-passes", test_old_passes_are_forgotten_save_in_the_totals);

	return g_test_run();
}
