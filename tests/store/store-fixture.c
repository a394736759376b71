/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/store/store-fixture.h"

#include "hashstore/objects/equal-list.h"
#include "hashstore/objects/history.h"
#include "hashstore/objects/holders.h"
#include "hashstore/objects/names.h"
#include "hashstore/objects/objects.h"
#include "hashstore/objects/open-extents.h"
#include "hashstore/objects/pinned.h"
#include "hashstore/objects/read-sums.h"

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

StoreFixture *store_fixture_new(void)
{
	StoreFixture *fixture = g_new0(StoreFixture, 1);
	GError *error = NULL;

	fixture->directory = g_dir_make_tmp("dedupd-store-XXXXXX", &error);
	g_assert_no_error(error);
	fixture->path = g_build_filename(fixture->directory, FIXTURE_UUID ".sqlite", NULL);
	fixture->options = (HashStoreOptions){
		.directory = fixture->directory,
		.uuid = FIXTURE_UUID,
		.kind = "btrfs",
		.block_bytes = 4096,
		.anchor_blocks = 4,
		.window_anchors = 16,
		.memory_bytes = 1 << 20,
	};

	return fixture;
}

static void remove_tree(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *child = g_build_filename(path, name, NULL);

		remove_tree(child);
	}
	g_remove(path);
}

void store_fixture_free(StoreFixture *fixture)
{
	if (!fixture)
		return;

	remove_tree(fixture->directory);
	g_free(fixture->directory);
	g_free(fixture->path);
	g_free(fixture);
}

HashStore *store_fixture_open(const StoreFixture *fixture)
{
	GError *error = NULL;
	HashStore *store = hash_store_open(&fixture->options, &error);

	g_assert_no_error(error);
	g_assert_nonnull(store);

	return store;
}

void check_done(bool done, GError **error)
{
	g_assert_no_error(*error);
	g_assert_true(done);
}

void store_fixture_settle(HashStore *store)
{
	GError *error = NULL;

	check_done(hash_store_settle(store, store_fixture_all_live, NULL, &error), &error);
	check_done(hash_store_commit(store, &error), &error);
}

void store_fixture_fill(const StoreFixture *fixture)
{
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	uint32_t id;

	for (uint64_t inode = 256; inode < 1256; inode++) {
		Object object = { .inode = inode,
				  .name = (const uint8_t *)"name",
				  .name_bytes = 4 };

		g_assert_true(hash_store_new_object(store, &id, &error));
		object.id = id;
		g_assert_true(hash_store_put(store, &object, &error));
		for (uint32_t i = 0; i < 10; i++) {
			Anchor anchor = { .digest = inode * 1000 + i, .object = id, .block = i };

			g_assert_true(hash_store_put_anchor(store, &anchor, &error));
		}
	}
	g_assert_no_error(error);
	store_fixture_settle(store);
}

static void put_object(HashStore *store, uint64_t subvolume, uint64_t inode, ObjectState state)
{
	Object object = { .subvolume = subvolume,
			  .inode = inode,
			  .size_bytes = 8192,
			  .digest =
				  UINT64_C(0x123456789abc0000) + inode / (2 * FIXTURE_EXTENT_BYTES),
			  .state = state,
			  .name = (const uint8_t *)"name",
			  .name_bytes = 4 };
	GError *error = NULL;

	check_done(hash_store_new_object(store, &object.id, &error), &error);
	check_done(hash_store_put(store, &object, &error), &error);
	for (uint32_t block = 0; block < 50; block++) {
		const Anchor anchor = { object.digest + (block << 20), object.id, block };

		check_done(hash_store_put_anchor(store, &anchor, &error), &error);
	}
	check_done(hash_store_put_anchor(store,
					 &(Anchor){ object.digest, object.id, ANCHOR_WHOLE_BLOCK },
					 &error),
		   &error);
	if (state == OBJECT_HALF)
		check_done(hash_store_put_half(store, object.id, 1, "state", 5, &error), &error);
}

static void put_known_of_extents(HashStore *store)
{
	const ExtentStamp one = { FIXTURE_EXTENT_BYTES, 7 },
			  other = { 2 * FIXTURE_EXTENT_BYTES, 8 };
	const uint64_t roots[] = { 256, 300 }, sums[] = { 1, 2, 3 };
	PinnedExtent pinned = { .extent = one, .cause = 1, .root = 256, .inode = 257, .bytes = 1 };
	GError *error = NULL;
	bool kept;

	check_done(hash_store_put_pinned(store, &pinned, &kept, &error), &error);
	pinned.extent = other;
	check_done(hash_store_put_holders(store, roots, 2, &pinned.holders, &error), &error);
	check_done(hash_store_put_pinned(store, &pinned, &kept, &error), &error);
	check_done(hash_store_put_differed(store, &one, &other, &kept, &error), &error);
	check_done(hash_store_put_read_sums(store, FIXTURE_EXTENT_BYTES, sums, 3, &error), &error);
	check_done(hash_store_put_open_extent(store, FIXTURE_EXTENT_BYTES, &error), &error);
}

void store_fixture_fill_tables(const StoreFixture *fixture)
{
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	const char *const examples[] = { "/srv/a", NULL };
	const SkipRecord skip = { "leased", 1, 4096, examples };
	const DirectoryName directory = { 5, FIXTURE_FILES, 5, 0, (const uint8_t *)"dir", 3, 7 };
	PassRecord pass = { .mount_point = (char *)"/srv", .freed_bytes = 4711 };
	GError *error = NULL;

	for (uint64_t i = 1; i <= FIXTURE_EXTENTS; i++)
		put_object(store, OBJECT_EXTENTS, i * FIXTURE_EXTENT_BYTES, OBJECT_DONE);
	for (uint64_t i = 0; i < 4; i++)
		put_object(store, 5, FIXTURE_FILES + i, i ? OBJECT_DONE : OBJECT_HALF);
	put_known_of_extents(store);
	check_done(hash_store_put_directory(store, &directory, &error), &error);
	check_done(hash_store_put_skip(store, &skip, &error), &error);
	check_done(hash_store_set_note(store, "note", "text", &error), &error);
	check_done(hash_store_put_pass(store, &pass, &error), &error);
	check_done(hash_store_make_equal_list(store, &error), &error);
	check_done(hash_store_put_loose_object(store, 1, &error), &error);
	store_fixture_settle(store);
	put_object(store, OBJECT_EXTENTS, FIXTURE_EXTENT_BYTES / 2, OBJECT_DONE);
	check_done(hash_store_commit(store, &error), &error);
}

void store_fixture_refused(const StoreFixture *fixture, HashStoreError code, const char *text)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(HashStore) store = hash_store_open(&fixture->options, &error);

	g_assert_null(store);
	g_assert_error(error, HASH_STORE_ERROR, (int)code);
	if (!strstr(error->message, text))
		g_error("\"%s\" does not say \"%s\"", error->message, text);
}

void store_fixture_sql(const char *path, const char *sql)
{
	sqlite3 *database = NULL;
	char *message = NULL;

	g_assert_cmpint(sqlite3_open(path, &database), ==, SQLITE_OK);
	sqlite3_exec(database, sql, NULL, NULL, &message);
	g_assert_null(message);
	sqlite3_close(database);
}

char *store_fixture_ask(const char *path, const char *sql)
{
	sqlite3_stmt *query = NULL;
	sqlite3 *database = NULL;
	char *answer;

	g_assert_cmpint(sqlite3_open(path, &database), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_prepare_v2(database, sql, -1, &query, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_step(query), ==, SQLITE_ROW);
	answer = g_strdup((const char *)sqlite3_column_text(query, 0));
	sqlite3_finalize(query);
	sqlite3_close(database);
	return answer;
}

void store_fixture_set_back(const char *path, int version)
{
	/* What undoes the last steps of the schema, the latest first. */
	static const struct {
		int step;
		const char *undo;
	} steps[] = {
		{ 17, "CREATE UNIQUE INDEX object_id ON object (id); DROP TABLE place;" },
		{ 16, "ALTER TABLE pass_total DROP COLUMN interrupted;"
		      "ALTER TABLE pass_total DROP COLUMN failed;"
		      "ALTER TABLE pass_total DROP COLUMN wasted_bytes;" },
		{ 15, "ALTER TABLE pass DROP COLUMN used_bytes;" },
		{ 14, "DROP TABLE kept_group; DROP TABLE loose_object;"
		      "DELETE FROM note WHERE name LIKE 'equal-groups-%';" },
	};
	g_autofree char *stamp = g_strdup_printf("PRAGMA user_version = %d", version);

	for (size_t i = 0; i < G_N_ELEMENTS(steps) && steps[i].step > version; i++)
		store_fixture_sql(path, steps[i].undo);
	store_fixture_sql(path, stamp);
}

char *store_fixture_state(const char *path)
{
	g_autofree char *content = NULL;
	g_autofree char *sum = NULL;
	GError *error = NULL;
	struct stat st;
	gsize size;

	g_assert_cmpint(stat(path, &st), ==, 0);
	g_file_get_contents(path, &content, &size, &error);
	g_assert_no_error(error);
	sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)content, size);

	return g_strdup_printf("%s %" G_GSIZE_FORMAT " %" G_GINT64_FORMAT ".%09ld %s", path, size,
			       (gint64)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, sum);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *store_fixture_directory_state(const StoreFixture *fixture)
{
	g_autoptr(GDir) dir = g_dir_open(fixture->directory, 0, NULL);
	g_autoptr(GPtrArray) states = g_ptr_array_new_with_free_func(g_free);
	const char *name;

	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(fixture->directory, name, NULL);

		g_ptr_array_add(states, store_fixture_state(path));
	}
	g_ptr_array_sort(states, compare_texts);
	g_ptr_array_add(states, NULL);

	return g_strjoinv("\n", (char **)states->pdata);
}

bool store_fixture_all_live(uint32_t object, void *data)
{
	return true;
}
