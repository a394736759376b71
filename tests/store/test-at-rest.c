/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/groups.h"
#include "hashstore/objects/history.h"
#include "hashstore/objects/names.h"
#include "hashstore/objects/objects.h"
#include "tests/store/store-fixture.h"

#include <glib/gstdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void set_note(HashStore *store, const char *text)
{
	GError *error = NULL;

	g_assert_true(hash_store_set_note(store, "policy", text, &error));
	g_assert_true(hash_store_commit(store, &error));
	g_assert_no_error(error);
}

static void check_note(HashStore *store, const char *text)
{
	g_autofree char *note = NULL;
	GError *error = NULL;

	g_assert_true(hash_store_get_note(store, "policy", &note, &error));
	g_assert_no_error(error);
	g_assert_cmpstr(note, ==, text);
}

/* Do all that a pass without changes does. */
static void change_nothing(const StoreFixture *fixture)
{
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	g_autoptr(ObjectCursor) objects = object_cursor_open(store, &error);
	g_autoptr(DirectoryCursor) directories = directory_cursor_open(store, &error);
	g_autoptr(PassCursor) passes = pass_cursor_open(store, &error);
	g_autoptr(Groups) groups = groups_open(store, store_fixture_all_live, NULL, &error);
	const DirectoryName *directory;
	const PassRecord *pass;
	const Object *object;
	const Group *group;
	uint32_t n_segments;
	uint64_t n;

	g_assert_no_error(error);
	do {
		g_assert_true(object_cursor_next(objects, &object, &error));
	} while (object);
	/* The others are left in the middle. */
	g_assert_true(directory_cursor_next(directories, &directory, &error));
	g_assert_true(pass_cursor_next(passes, &pass, &error));
	g_assert_true(groups_next(groups, &group, &error));
	g_assert_true(hash_store_find(store, 1, &object, &error));
	g_assert_true(hash_store_count_anchors(store, &n, &n_segments, &error));
	check_note(store, "one");
	g_assert_true(hash_store_set_note(store, "policy", "one", &error));
	g_assert_true(hash_store_clear_skips(store, &error));
	g_assert_true(hash_store_settle(store, store_fixture_all_live, NULL, &error));
	g_assert_true(hash_store_commit(store, &error));
}

static void check_nothing_is_written(const StoreFixture *fixture)
{
	g_autofree char *before = store_fixture_directory_state(fixture);
	g_autofree char *after = NULL;

	g_usleep(20000);
	change_nothing(fixture);
	after = store_fixture_directory_state(fixture);
	g_assert_cmpstr(before, ==, after);
}

static void test_nothing_is_written_when_nothing_changed(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *wal = g_strconcat(fixture->path, "-wal", NULL);
	g_autofree char *shm = g_strconcat(fixture->path, "-shm", NULL);
	HashStore *store;
	struct stat st;

	store_fixture_fill(fixture);
	store = store_fixture_open(fixture);
	set_note(store, "one");
	hash_store_close(store);
	g_assert_cmpint(stat(wal, &st), ==, 0);
	g_assert_cmpint(st.st_size, ==, 0);
	g_assert_cmpint(stat(shm, &st), ==, 0);
	check_nothing_is_written(fixture);

	/* The WAL is not made, either. */
	g_unlink(wal);
	g_unlink(shm);
	check_nothing_is_written(fixture);
}

static void test_what_was_killed_after_a_commit_is_read_and_then_at_rest(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *wal = g_strconcat(fixture->path, "-wal", NULL);
	HashStore *store;
	struct stat st;
	pid_t child;

	store_fixture_fill(fixture);
	child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		set_note(store_fixture_open(fixture), "one");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	g_assert_cmpint(stat(wal, &st), ==, 0);
	g_assert_cmpint(st.st_size, >, 0);

	store = store_fixture_open(fixture);
	check_note(store, "one");
	hash_store_close(store);
	check_nothing_is_written(fixture);
}

/* Put @n objects that take some megabytes; ids begin at *id, which advances. */
static void put_long_names(HashStore *store, uint32_t n, uint32_t *id)
{
	uint8_t name[255] = "name";
	GError *error = NULL;

	for (uint32_t i = 0; i < n; i++) {
		Object object = { .inode = 256 + i, .name = name, .name_bytes = sizeof(name) };

		g_assert_true(hash_store_new_object(store, &object.id, &error));
		g_assert_true(hash_store_put(store, &object, &error));
		*id = object.id;
	}
	g_assert_no_error(error);
	store_fixture_settle(store);
}

/* A settled store puts a large WAL into its file at a commit, which the cursor must not meet. */
static void test_cursor_opened_at_rest_outlives_any_change(void)
{
	const uint32_t n_objects = 20000;
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *wal = g_strconcat(fixture->path, "-wal", NULL);
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autoptr(ObjectCursor) cursor = NULL;
	g_autofree char *before = NULL;
	const Object *object;
	GError *error = NULL;
	uint32_t id, n = 0;
	struct stat st;

	put_long_names(store, n_objects, &id);
	g_clear_pointer(&store, hash_store_close);
	store = store_fixture_open(fixture);
	before = store_fixture_state(fixture->path);
	cursor = object_cursor_open(store, &error);
	for (; n < 100; n++)
		g_assert_true(object_cursor_next(cursor, &object, &error));

	for (int round = 0; round < 3; round++) {
		g_autofree char *after = NULL;

		put_long_names(store, n_objects, &id);
		after = store_fixture_state(fixture->path);
		g_assert_cmpstr(before, ==, after);
	}
	g_assert_cmpint(stat(wal, &st), ==, 0);
	g_assert_cmpint(st.st_size, >, 16 << 20);
	for (; object; n++) {
		g_assert_cmpuint(object->inode, ==, 255 + n);
		g_assert_cmpuint(object->id, ==, n);
		g_assert_true(object_cursor_next(cursor, &object, &error));
		g_assert_no_error(error);
	}
	g_assert_cmpuint(n, ==, n_objects + 1);

	/* With its end the file is free to change. */
	set_note(store, "two");
	g_assert_cmpint(stat(wal, &st), ==, 0);
	g_assert_cmpint(st.st_size, ==, 0);
	check_note(store, "two");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/at-rest/nothing-is-written-when-nothing-changed",
			test_nothing_is_written_when_nothing_changed);
	g_test_add_func("/at-rest/what-was-killed-after-a-commit-is-read-and-then-at-rest",
			test_what_was_killed_after_a_commit_is_read_and_then_at_rest);
	g_test_add_func("/at-rest/cursor-opened-at-rest-outlives-any-change",
			test_cursor_opened_at_rest_outlives_any_change);

	return g_test_run();
}
