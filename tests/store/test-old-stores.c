/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/groups.h"
#include "hashstore/anchors/segments.h"
#include "hashstore/hash-store.h"
#include "hashstore/objects/history.h"
#include "hashstore/objects/objects.h"
#include "hashstore/store-check.h"
#include "tests/store/store-fixture.h"

#include <sqlite3.h>
#include <stdatomic.h>

/*
 * Stores in tests/store/old, named after the version of their schema.  Two passes of the dedupd of that time made
 * each, over two equal files of 1 MiB, an edited copy and small files; on btrfs, also over a read-only snapshot.
 */
typedef struct {
	const char *file, *uuid, *kind;
	uint64_t objects, anchors, freed_bytes;
} OldStore;

static const OldStore stores[] = {
	{ "8-btrfs.sqlite", "d08297c0-c6ff-4444-bcac-0ead63cbb7f1", "btrfs", 23, 147, 3342336 },
	{ "8-xfs.sqlite", "a310edb6-1061-4d5f-a5a9-fbf12a20bd24", "XFS", 25, 255, 2293760 },
	{ "14-btrfs.sqlite", "9071532f-e17d-4ca5-92e1-f8c1008b93f5", "btrfs", 23, 145, 3342336 },
	{ "14-xfs.sqlite", "29285b20-2a6a-4278-8e2a-7db9289e545a", "XFS", 25, 221, 2293760 },
};

static void assert_sound(HashStore *store)
{
	g_autoptr(GPtrArray) problems = NULL;
	GError *error = NULL;

	g_assert_true(hash_store_check(store, &problems, &error));
	g_assert_no_error(error);
	for (size_t i = 0; i < problems->len; i++)
		g_test_message("%s", (const char *)problems->pdata[i]);
	g_assert_cmpuint(problems->len, ==, 0);
}

static void assert_history(HashStore *store, const OldStore *old)
{
	GError *error = NULL;
	g_autoptr(PassCursor) passes = pass_cursor_open(store, &error);
	uint64_t freed_bytes = 0;
	const PassRecord *pass;

	g_assert_no_error(error);
	while (pass_cursor_next(passes, &pass, &error) && pass) {
		g_assert_cmpint(pass->outcome, ==, PASS_COMPLETE);
		freed_bytes += pass->freed_bytes;
	}
	g_assert_no_error(error);
	g_assert_cmpuint(freed_bytes, ==, old->freed_bytes);
}

static void assert_contents(HashStore *store, const OldStore *old)
{
	GError *error = NULL;
	g_autoptr(ObjectCursor) objects = object_cursor_open(store, &error);
	g_autoptr(Groups) groups = groups_open(store, store_fixture_all_live, NULL, &error);
	uint64_t n_objects = 0, n_anchors;
	const Object *object;
	const Group *group;
	uint32_t n_segments;

	g_assert_no_error(error);
	while (object_cursor_next(objects, &object, &error) && object)
		n_objects++;
	g_assert_no_error(error);
	g_assert_cmpuint(n_objects, ==, old->objects);
	g_assert_true(hash_store_count_anchors(store, &n_anchors, &n_segments, &error));
	g_assert_cmpuint(n_anchors, ==, old->anchors);
	do {
		g_assert_true(groups_next(groups, &group, &error));
	} while (group);
}

static void end_pass(HashStore *store)
{
	Object object = { .state = OBJECT_SKIPPED, .subvolume = 4000 };
	GError *error = NULL;

	g_assert_true(hash_store_new_object(store, &object.id, &error));
	object.inode = object.id;
	g_assert_true(hash_store_put(store, &object, &error));
	g_assert_no_error(error);
	store_fixture_settle(store);
}

/* Stops a pass at one of the places where it looks at the stop flag. */
typedef struct {
	atomic_bool stop;
	unsigned looks_left;
} Stopper;

static void count_look(void *data)
{
	Stopper *stopper = data;

	if (stopper->looks_left == 0)
		atomic_store(&stopper->stop, true);
	else
		stopper->looks_left--;
}

static void ignore_thread(void *data)
{
	(void)data;
}

/* The store has none of the forms that version 17 replaced. */
static bool is_converted(const char *path)
{
	sqlite3 *database = NULL;
	sqlite3_stmt *count = NULL;
	int n;

	g_assert_cmpint(sqlite3_open(path, &database), ==, SQLITE_OK);
	g_assert_cmpint(
		sqlite3_prepare_v2(
			database,
			"SELECT (SELECT count(*) FROM sqlite_schema WHERE name = 'object_id')"
			" + (SELECT count(*) FROM page WHERE hex(substr(entries, 6, 1)) < '80')",
			-1, &count, NULL),
		==, SQLITE_OK);
	g_assert_cmpint(sqlite3_step(count), ==, SQLITE_ROW);
	n = sqlite3_column_int(count, 0);
	sqlite3_finalize(count);
	sqlite3_close(database);
	return n == 0;
}

static void assert_found_by_id(HashStore *store)
{
	GError *error = NULL;
	g_autoptr(ObjectCursor) objects = object_cursor_open(store, &error);
	const Object *object, *found;

	while (object_cursor_next(objects, &object, &error) && object) {
		g_assert_true(hash_store_find(store, object->id, &found, &error));
		g_assert_nonnull(found);
		g_assert_cmpuint(found->subvolume, ==, object->subvolume);
		g_assert_cmpuint(found->inode, ==, object->inode);
	}
	g_assert_no_error(error);
	g_assert_true(hash_store_find(store, hash_store_next_object(store), &found, &error));
	g_assert_null(found);
}

/* All groups of more than one anchor, as text. */
static char *groups_text(HashStore *store)
{
	GError *error = NULL;
	g_autoptr(Groups) groups = NULL;
	g_autoptr(GString) text = g_string_new(NULL);
	const Group *group;

	g_assert_true(hash_store_unsettle(store, &error));
	g_assert_true(hash_store_commit(store, &error));
	groups = groups_open(store, store_fixture_all_live, NULL, &error);
	while (groups_next(groups, &group, &error) && group)
		for (size_t i = 0; i < group->n_members; i++)
			g_string_append_printf(text, "%" G_GINT64_MODIFIER "x %u %u\n",
					       group->members[i].digest, group->members[i].object,
					       group->members[i].block);
	g_assert_no_error(error);
	return g_string_free(g_steal_pointer(&text), false);
}

static void copy_old(const OldStore *old, const char *path)
{
	g_autofree char *from = g_build_filename(g_getenv("OLD_STORES"), old->file, NULL);
	g_autofree char *contents = NULL;
	GError *error = NULL;
	size_t n_bytes;

	g_assert_true(g_file_get_contents(from, &contents, &n_bytes, &error));
	g_assert_true(g_file_set_contents(path, contents, (gssize)n_bytes, &error));
}

/* Passes rewrite what takes long.  A stopped one leaves all as it was. */
static void test_passes_over_an_old_store_convert_it(const void *data)
{
	const OldStore *old = data;
	/* The store uses these until it is closed. */
	Stopper stopper = { .looks_left = UINT_MAX };
	const HashStorePayer payer = { ignore_thread, ignore_thread, count_look, &stopper };
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *name = g_strdup_printf("%s.sqlite", old->uuid);
	g_autofree char *path = g_build_filename(fixture->directory, name, NULL);
	g_autofree char *before = NULL;
	g_autofree char *after = NULL;
	g_autoptr(HashStore) store = NULL;

	copy_old(old, path);
	fixture->options.uuid = old->uuid;
	fixture->options.kind = old->kind;
	fixture->options.anchor_blocks = 0;
	fixture->options.window_anchors = 0;
	fixture->options.stop = &stopper.stop;
	fixture->options.payer = &payer;

	store = store_fixture_open(fixture);
	before = groups_text(store);
	for (unsigned looks = 0; !is_converted(path); looks++) {
		g_assert_cmpuint(looks, <, 1000);
		stopper.looks_left = looks;
		end_pass(store);
		stopper.looks_left = UINT_MAX;
		atomic_store(&stopper.stop, false);
		assert_found_by_id(store);
		assert_sound(store);
	}
	after = groups_text(store);
	g_assert_cmpstr(after, ==, before);
}

static void test_an_old_store_is_migrated_with_all_that_it_has(const void *data)
{
	const OldStore *old = data;
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *name = g_strdup_printf("%s.sqlite", old->uuid);
	g_autofree char *path = g_build_filename(fixture->directory, name, NULL);
	g_autoptr(HashStore) store = NULL;
	g_autoptr(HashStore) reader = NULL;
	GError *error = NULL;

	copy_old(old, path);
	fixture->options.uuid = old->uuid;
	fixture->options.kind = old->kind;
	fixture->options.anchor_blocks = 0;
	fixture->options.window_anchors = 0;

	store = store_fixture_open(fixture);
	assert_sound(store);
	assert_contents(store, old);
	assert_history(store, old);
	/* As a pass over unchanged files ends. */
	g_assert_true(hash_store_settle(store, store_fixture_all_live, NULL, &error));
	g_assert_true(hash_store_commit(store, &error));
	g_clear_pointer(&store, hash_store_close);

	reader = hash_store_open_to_read(path, &error);
	g_assert_no_error(error);
	assert_sound(reader);
	assert_history(reader, old);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(stores); i++) {
		g_autofree char *name =
			g_strdup_printf("/old-stores/%s-is-migrated", stores[i].file);

		g_autofree char *converted =
			g_strdup_printf("/old-stores/%s-is-converted", stores[i].file);

		g_test_add_data_func(name, &stores[i],
				     test_an_old_store_is_migrated_with_all_that_it_has);
		g_test_add_data_func(converted, &stores[i],
				     test_passes_over_an_old_store_convert_it);
	}
	return g_test_run();
}
