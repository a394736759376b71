/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/groups.h"
#include "hashstore/anchors/segments.h"
#include "hashstore/hash-store.h"
#include "hashstore/objects/history.h"
#include "hashstore/objects/objects.h"
#include "hashstore/store-check.h"
#include "tests/store/store-fixture.h"

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

static void test_an_old_store_is_migrated_with_all_that_it_has(const void *data)
{
	const OldStore *old = data;
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *from = g_build_filename(g_getenv("OLD_STORES"), old->file, NULL);
	g_autofree char *name = g_strdup_printf("%s.sqlite", old->uuid);
	g_autofree char *path = g_build_filename(fixture->directory, name, NULL);
	g_autofree char *contents = NULL;
	g_autoptr(HashStore) store = NULL;
	g_autoptr(HashStore) reader = NULL;
	GError *error = NULL;
	size_t n_bytes;

	g_assert_true(g_file_get_contents(from, &contents, &n_bytes, &error));
	g_assert_true(g_file_set_contents(path, contents, (gssize)n_bytes, &error));
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

		g_test_add_data_func(name, &stores[i],
				     test_an_old_store_is_migrated_with_all_that_it_has);
	}
	return g_test_run();
}
