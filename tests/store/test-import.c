/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchor-cursor.h"
#include "hashstore/database/store-snapshot.h"
#include "hashstore/objects/objects.h"
#include "hashstore/store-check.h"
#include "hashstore/store-import.h"
#include "tests/store/store-fixture.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_BYTES ((size_t)1 << 20)

static HashStoreAbout about_of_import(void)
{
	HashStoreAbout about = { .uuid = FIXTURE_UUID,
				 .kind = "XFS",
				 .block_bytes = 4096,
				 .anchor_blocks = 2,
				 .window_anchors = 8 };

	memset(about.secret, 0x5a, sizeof(about.secret));
	return about;
}

static StoreImport *begin(const StoreFixture *fixture, bool replace)
{
	const HashStoreAbout about = about_of_import();
	GError *error = NULL;
	StoreImport *import =
		store_import_begin(fixture->directory, &about, replace, MEMORY_BYTES, &error);

	g_assert_no_error(error);
	return import;
}

/* Put an object.  Returns its id. */
static uint32_t put(StoreImport *import, uint64_t inode)
{
	HashStore *store = store_import_store(import);
	Object object = { .inode = inode, .size_bytes = 8192, .digest = 7 };
	GError *error = NULL;

	g_assert_true(hash_store_new_object(store, &object.id, &error));
	g_assert_true(hash_store_put(store, &object, &error));
	g_assert_no_error(error);
	return object.id;
}

static char *finish(StoreImport *import)
{
	GError *error = NULL;
	char *aside;

	g_assert_true(store_import_finish(import, &aside, &error));
	g_assert_no_error(error);
	return aside;
}

static uint64_t count_anchors(StoreSnapshot *snapshot)
{
	GError *error = NULL;
	g_autoptr(AnchorCursor) cursor = anchor_cursor_open_in(snapshot, &error);
	uint64_t n_all = 0;
	Anchor last = { 0 };

	while (true) {
		const Anchor *anchors;
		size_t n;

		g_assert_true(anchor_cursor_next(cursor, &anchors, &n, &error));
		if (n == 0)
			return n_all;
		g_assert_cmpuint(anchors[0].digest, >=, last.digest);
		last = anchors[n - 1];
		n_all += n;
	}
}

static uint64_t count_objects(StoreSnapshot *snapshot)
{
	GError *error = NULL;
	g_autoptr(ObjectCursor) cursor = object_cursor_open_in(snapshot, &error);
	const Object *object;
	uint64_t n = 0;

	while (true) {
		g_assert_true(object_cursor_next(cursor, &object, &error));
		if (!object)
			return n;
		n++;
	}
}

/* The store is changed between two cursors; both see the old state. */
static void test_cursors_of_a_snapshot_agree(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	GError *error = NULL;

	store_fixture_fill(fixture);
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autoptr(HashStore) reading = hash_store_open_to_read(fixture->path, &error);
	g_assert_no_error(error);
	g_autoptr(StoreSnapshot) snapshot = store_snapshot_take(reading, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(count_objects(snapshot), ==, 1000);

	const Anchor anchor = { .digest = 1, .object = 1, .block = 1 };
	g_assert_true(hash_store_put_anchor(store, &anchor, &error));
	for (uint64_t inode = 0; inode < 2000; inode++)
		g_assert_true(hash_store_drop(store, 0, inode, &error));
	g_assert_true(hash_store_commit(store, &error));
	g_assert_no_error(error);

	g_assert_cmpuint(count_objects(snapshot), ==, 1000);
	g_assert_cmpuint(count_anchors(snapshot), ==, 10000);
}

static void test_what_was_imported_is_a_store_as_any_other(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	const HashStoreAbout about = about_of_import();
	GError *error = NULL;
	struct stat st;

	StoreImport *import = begin(fixture, false);
	uint32_t id = put(import, 256);
	put(import, 257);
	for (uint32_t block = 0; block < 100000; block++) {
		const Anchor anchor = { .digest = block + 1, .object = id, .block = block };

		g_assert_true(hash_store_put_anchor(store_import_store(import), &anchor, &error));
	}
	g_assert_cmpint(stat(fixture->path, &st), ==, -1);
	g_assert_null(finish(import));
	store_import_free(import);

	g_assert_cmpint(stat(fixture->path, &st), ==, 0);
	g_assert_cmpuint(st.st_mode & 0777, ==, 0600);
	g_autoptr(HashStore) store = hash_store_open_to_read(fixture->path, &error);
	g_assert_no_error(error);
	g_assert_cmpmem(hash_store_about(store)->secret, HASH_STORE_SECRET_BYTES, about.secret,
			HASH_STORE_SECRET_BYTES);
	g_assert_cmpuint(hash_store_settled_below(store), ==, 1);

	g_autoptr(StoreSnapshot) snapshot = store_snapshot_take(store, &error);
	g_assert_cmpuint(count_objects(snapshot), ==, 2);
	g_assert_cmpuint(count_anchors(snapshot), ==, 100000);
	g_autoptr(GPtrArray) problems = NULL;
	g_assert_true(hash_store_check(store, &problems, &error));
	g_assert_cmpuint(problems->len, ==, 0);
}

static void test_a_store_that_is_there_stays_unless_it_is_to_be_replaced(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	const HashStoreAbout about = about_of_import();
	g_autoptr(GError) error = NULL;

	store_fixture_fill(fixture);
	g_autofree char *before = store_fixture_directory_state(fixture);
	g_assert_null(store_import_begin(fixture->directory, &about, false, MEMORY_BYTES, &error));
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_IN_USE);
	g_autofree char *after = store_fixture_directory_state(fixture);
	g_assert_cmpstr(before, ==, after);

	/* An unfinished import does not change it, either. */
	store_import_free(begin(fixture, true));
	g_autofree char *given_up = store_fixture_directory_state(fixture);
	g_assert_cmpstr(before, ==, given_up);

	g_autofree char *old = NULL;
	size_t old_bytes;
	g_assert_true(g_file_get_contents(fixture->path, &old, &old_bytes, NULL));
	StoreImport *import = begin(fixture, true);
	g_autofree char *aside = finish(import);
	store_import_free(import);
	g_autofree char *expected = g_strconcat(fixture->path, ".old-1", NULL);
	g_assert_cmpstr(aside, ==, expected);
	g_autofree char *moved = NULL;
	size_t moved_bytes;
	g_assert_true(g_file_get_contents(aside, &moved, &moved_bytes, NULL));
	g_assert_cmpmem(moved, moved_bytes, old, old_bytes);
}

/* The next user of the store deletes the remains of a killed import. */
static void test_what_a_killed_import_left_is_deleted(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *made_in =
		g_build_filename(fixture->directory, FIXTURE_UUID ".import", NULL);
	g_autofree char *left = g_build_filename(made_in, FIXTURE_UUID ".sqlite", NULL);
	GError *error = NULL;

	for (int by_import = 0; by_import < 2; by_import++) {
		g_assert_cmpint(mkdir(made_in, 0700), ==, 0);
		g_assert_true(g_file_set_contents(left, "half a store", -1, &error));

		if (by_import)
			store_import_free(begin(fixture, true));
		else
			hash_store_close(store_fixture_open(fixture));
		g_assert_false(g_file_test(made_in, G_FILE_TEST_EXISTS));
	}
}

/* Drop an object of 1,000 and end like a killed pass: the change stays in the WAL. */
static void leave_wal(const StoreFixture *fixture)
{
	g_autofree char *wal_path = g_strconcat(fixture->path, "-wal", NULL);
	g_autofree char *wal = NULL, *database = NULL;
	size_t wal_bytes, database_bytes;
	GError *error = NULL;

	store_fixture_fill(fixture);
	HashStore *store = store_fixture_open(fixture);
	g_assert_true(hash_store_drop(store, 0, 300, &error));
	g_assert_true(hash_store_commit(store, &error));
	g_assert_true(g_file_get_contents(wal_path, &wal, &wal_bytes, &error));
	g_assert_true(g_file_get_contents(fixture->path, &database, &database_bytes, &error));
	hash_store_close(store);
	g_assert_true(g_file_set_contents(fixture->path, database, (gssize)database_bytes, &error));
	g_assert_true(g_file_set_contents(wal_path, wal, (gssize)wal_bytes, &error));
}

/* SQLite would take the WAL for the new database's, and hide its contents. */
static void test_a_wal_without_its_database_is_nobodys(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *wal_path = g_strconcat(fixture->path, "-wal", NULL);
	g_autofree char *wal = NULL;
	size_t wal_bytes;
	GError *error = NULL;

	leave_wal(fixture);
	g_assert_true(g_file_get_contents(wal_path, &wal, &wal_bytes, &error));
	g_assert_cmpuint(wal_bytes, >, 0);

	for (int by_import = 0; by_import < 2; by_import++) {
		g_assert_cmpint(unlink(fixture->path), ==, 0);
		g_assert_true(g_file_set_contents(wal_path, wal, (gssize)wal_bytes, &error));

		if (by_import) {
			StoreImport *import = begin(fixture, false);
			put(import, 256);
			g_assert_null(finish(import));
			store_import_free(import);
		} else {
			hash_store_close(store_fixture_open(fixture));
		}

		g_autoptr(HashStore) reading = hash_store_open_to_read(fixture->path, &error);
		g_assert_no_error(error);
		g_autoptr(StoreSnapshot) snapshot = store_snapshot_take(reading, &error);
		g_assert_cmpuint(count_objects(snapshot), ==, by_import ? 1 : 0);
	}
}

/* The WAL of a store is moved with it. */
static void test_what_is_moved_aside_is_whole(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *wal_path = g_strconcat(fixture->path, "-wal", NULL);
	g_autofree char *wal = NULL;
	size_t wal_bytes;
	GError *error = NULL;

	leave_wal(fixture);
	g_assert_true(g_file_get_contents(wal_path, &wal, &wal_bytes, &error));

	StoreImport *import = begin(fixture, true);
	g_autofree char *aside = finish(import);
	store_import_free(import);
	g_autofree char *wal_aside = g_strconcat(aside, "-wal", NULL);
	g_autofree char *moved = NULL;
	size_t moved_bytes;
	g_assert_true(g_file_get_contents(wal_aside, &moved, &moved_bytes, &error));
	g_assert_cmpmem(moved, moved_bytes, wal, wal_bytes);
	g_autoptr(HashStore) old = hash_store_open_to_read(aside, &error);
	g_assert_no_error(error);
	g_autoptr(StoreSnapshot) snapshot = store_snapshot_take(old, &error);
	g_assert_cmpuint(count_objects(snapshot), ==, 999);
}

static void test_who_writes_the_store_is_not_disturbed(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	const HashStoreAbout about = about_of_import();
	HashStore *store = store_fixture_open(fixture);
	g_autoptr(GError) error = NULL;

	g_assert_null(store_import_begin(fixture->directory, &about, true, MEMORY_BYTES, &error));
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_IN_USE);
	hash_store_close(store);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/import/cursors-of-a-snapshot-agree", test_cursors_of_a_snapshot_agree);
	g_test_add_func("/import/what-was-imported-is-a-store-as-any-other",
			test_what_was_imported_is_a_store_as_any_other);
	g_test_add_func("/import/a-store-that-is-there-stays-unless-it-is-to-be-replaced",
			test_a_store_that_is_there_stays_unless_it_is_to_be_replaced);
	g_test_add_func("/import/what-a-killed-import-left-is-deleted",
			test_what_a_killed_import_left_is_deleted);
	g_test_add_func("/import/a-wal-without-its-database-is-nobodys",
			test_a_wal_without_its_database_is_nobodys);
	g_test_add_func("/import/what-is-moved-aside-is-whole", test_what_is_moved_aside_is_whole);
	g_test_add_func("/import/who-writes-the-store-is-not-disturbed",
			test_who_writes_the_store_is_not_disturbed);

	return g_test_run();
}
