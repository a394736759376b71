/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/names.h"
#include "hashstore/objects/objects.h"
#include "hashstore/objects/open-extents.h"
#include "tests/store/store-fixture.h"

#include <string.h>

/* An object whose every field follows from @id. */
static Object object_of(uint32_t id, uint64_t subvolume, uint64_t inode, char *name)
{
	g_snprintf(name, 32, "name-%u", id);

	return (Object){
		.id = id,
		.subvolume = subvolume,
		.inode = inode,
		.generation = id * 7919,
		.size_bytes = (uint64_t)id << 10,
		.btime_nsec = INT64_C(1700000000000000000) + id,
		.mtime_nsec = INT64_C(1600000000000000000) - id,
		.ctime_nsec = INT64_C(1700000000000000000) + 2 * (int64_t)id,
		.state = OBJECT_DONE,
		.flags = OBJECT_RACY | OBJECT_KEEP_ZEROS,
		.doubted_day = id % 2 ? 20000 : 0,
		.digest = UINT64_MAX - id,
		.parent = inode + 1,
		.name = (const uint8_t *)name,
		.name_bytes = strlen(name),
	};
}

static void check_equal(const Object *a, const Object *b)
{
	Object one = *a, other = *b;

	g_assert_cmpmem(a->name, a->name_bytes, b->name, b->name_bytes);
	one.name = NULL;
	other.name = NULL;
	g_assert_cmpuint(one.id, ==, other.id);
	g_assert_cmpuint(one.subvolume, ==, other.subvolume);
	g_assert_cmpuint(one.inode, ==, other.inode);
	g_assert_cmpuint(one.generation, ==, other.generation);
	g_assert_cmpuint(one.size_bytes, ==, other.size_bytes);
	g_assert_cmpint(one.btime_nsec, ==, other.btime_nsec);
	g_assert_cmpint(one.mtime_nsec, ==, other.mtime_nsec);
	g_assert_cmpint(one.ctime_nsec, ==, other.ctime_nsec);
	g_assert_cmpint(one.state, ==, other.state);
	g_assert_cmpuint(one.flags, ==, other.flags);
	g_assert_cmpuint(one.skip_reason, ==, other.skip_reason);
	g_assert_cmpuint(one.doubted_day, ==, other.doubted_day);
	g_assert_cmpuint(one.digest, ==, other.digest);
	g_assert_cmpuint(one.head, ==, other.head);
	g_assert_cmpuint(one.changes, ==, other.changes);
	g_assert_cmpuint(one.changed_sec, ==, other.changed_sec);
	g_assert_cmpuint(one.parent, ==, other.parent);
}

static void put(HashStore *store, const Object *object)
{
	GError *error = NULL;

	g_assert_true(hash_store_put(store, object, &error));
	g_assert_no_error(error);
}

static const Object *find(HashStore *store, uint32_t id)
{
	const Object *found;
	GError *error = NULL;

	g_assert_true(hash_store_find(store, id, &found, &error));
	g_assert_no_error(error);

	return found;
}

static uint64_t count(HashStore *store)
{
	GError *error = NULL;
	uint64_t n;

	g_assert_true(hash_store_count_objects(store, &n, &error));

	return n;
}

static void test_object_comes_back_as_it_was_put(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	char name[32];
	Object object;

	for (uint32_t id = 1; id < 1000; id++) {
		object = object_of(id, id % 3, 1000 - id, name);
		put(store, &object);
		check_equal(find(store, id), &object);
	}
	g_assert_null(find(store, 1000));
	g_assert_cmpuint(count(store), ==, 999);
}

static void test_a_head_comes_back_with_and_without_the_rest(void)
{
	static const ObjectState states[] = { OBJECT_DONE, OBJECT_SEEN };
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	char name[32];

	for (uint32_t id = 1; id <= 4; id++) {
		Object object = object_of(id, 5, id, name);

		object.state = states[id % 2];
		object.digest = object.state == OBJECT_DONE ? object.digest : 0;
		object.flags = id > 2 ? OBJECT_WHOLE | OBJECT_HAS_HEAD : OBJECT_WHOLE;
		object.head = id > 2 ? UINT64_MAX - 7 * id : 0;
		put(store, &object);
		check_equal(find(store, id), &object);
	}
}

static void test_changes_come_back_with_what_else_is_known(void)
{
	static const ObjectState states[] = { OBJECT_DONE, OBJECT_HALF, OBJECT_SKIPPED,
					      OBJECT_SEEN };
	static const uint32_t changes[] = { 0, 1, 200, UINT32_MAX };
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	char name[32];

	for (uint32_t id = 1; id <= 16; id++) {
		Object object = object_of(id, 5, id, name);

		object.state = states[id % 4];
		object.digest = object.state == OBJECT_DONE ? object.digest : 0;
		object.flags = id % 2 ? OBJECT_HAS_HEAD : 0;
		object.head = id % 2 ? 77 : 0;
		object.changes = changes[(id - 1) / 4];
		object.changed_sec = object.changes ? UINT64_C(1700000000) + id : 0;
		put(store, &object);
		check_equal(find(store, id), &object);
	}
}

static void test_replaced_object_is_found_by_its_new_id_only(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	char name[32];
	Object object = object_of(1, 5, 256, name);

	put(store, &object);
	object = object_of(2, 5, 256, name);
	put(store, &object);
	g_assert_null(find(store, 1));
	check_equal(find(store, 2), &object);
	g_assert_cmpuint(count(store), ==, 1);
}

static void test_dropped_object_is_gone_and_dropping_it_again_is_no_error(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	char name[32];
	Object object = object_of(1, 5, 256, name);

	put(store, &object);
	g_assert_true(hash_store_drop(store, 5, 256, &error));
	g_assert_true(hash_store_drop(store, 5, 256, &error));
	g_assert_true(hash_store_drop(store, 6, 1, &error));
	g_assert_null(find(store, 1));
	g_assert_cmpuint(count(store), ==, 0);
}

static void test_an_id_is_free_again_when_its_object_is_dropped(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	char name[32];
	Object object = object_of(1, 5, 256, name);

	put(store, &object);
	g_assert_true(hash_store_drop(store, 5, 256, &error));
	object = object_of(1, 6, 300, name);
	put(store, &object);
	check_equal(find(store, 1), &object);

	object = object_of(1, 7, 301, name);
	g_assert_false(hash_store_put(store, &object, &error));
	g_assert_nonnull(error);
	g_clear_error(&error);
}

static void test_count_is_right_after_opening_again(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	char name[32];

	for (uint32_t id = 1; id <= 10; id++) {
		Object object = object_of(id, 5, 255 + id, name);

		put(store, &object);
	}
	g_assert_true(hash_store_commit(store, &error));
	g_assert_true(hash_store_drop(store, 5, 256, &error));
	g_assert_cmpuint(count(store), ==, 9);
	g_clear_pointer(&store, hash_store_close);
	store = store_fixture_open(fixture);
	g_assert_cmpuint(count(store), ==, 10);
}

/* Rows that hash_store_put() would refuse, written by another program. */
static void test_rows_that_cannot_be_are_refused(void)
{
	static const char *const rows[] = {
		"UPDATE object SET inode = -1 WHERE inode = 300",
		"UPDATE object SET id = -7 WHERE inode = 300",
		"UPDATE object SET id = 4294967295 WHERE inode = 300",
		/* A size of 2 GiB, in groups of seven bits. */
		("UPDATE object SET record = "
		 "x'0000808080800800000000000000000000000000000000000000'"
		 " WHERE inode = 300"),
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(StoreFixture) fixture = store_fixture_new();
		g_autoptr(HashStore) store = NULL;
		g_autoptr(ObjectCursor) cursor = NULL;
		g_autoptr(GError) error = NULL;
		const Object *object;
		bool done;

		store_fixture_fill(fixture);
		store_fixture_sql(fixture->path, rows[i]);
		store = store_fixture_open(fixture);
		cursor = object_cursor_open(store, NULL);
		do
			done = object_cursor_next(cursor, &object, &error);
		while (done && object);
		g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_CORRUPT);
	}
}

static void test_an_extent_that_no_btrfs_has_is_not_kept(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autoptr(GError) error = NULL;
	Object object = { .id = 1, .inode = 4096, .size_bytes = OBJECT_EXTENT_BYTES_MAX + 1 };

	g_assert_false(hash_store_put(store, &object, &error));
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED);
	object.subvolume = 256;
	put(store, &object);
}

static void test_cursor_sees_all_in_order_while_they_are_changed(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autoptr(ObjectCursor) cursor = NULL;
	const Object *object;
	GError *error = NULL;
	char name[32];
	uint32_t n = 0;

	for (uint32_t i = 0; i < 5000; i++) {
		/* Put in an order that is not that of the keys. */
		uint32_t key = i * 2657 % 5000;
		Object put_object = object_of(i + 1, key / 1000, key % 1000, name);

		put(store, &put_object);
	}
	g_assert_true(hash_store_commit(store, &error));
	cursor = object_cursor_open(store, &error);
	g_assert_no_error(error);
	for (;;) {
		Object changed;

		g_assert_true(object_cursor_next(cursor, &object, &error));
		if (!object)
			break;
		g_assert_cmpuint(object->subvolume, ==, n / 1000);
		g_assert_cmpuint(object->inode, ==, n % 1000);
		g_assert_cmpuint(object->id, <=, 5000);

		/* Before and behind it, committed and not. */
		changed = object_of(10000 + n, object->subvolume, object->inode, name);
		put(store, &changed);
		changed = object_of(20000 + n, 9, n, name);
		put(store, &changed);
		g_assert_true(hash_store_drop(store, (n + 1) / 1000, (n + 1) % 1000, &error));
		if (n % 500 == 0)
			g_assert_true(hash_store_commit(store, &error));
		n++;
	}
	g_assert_cmpuint(n, ==, 5000);
	g_assert_true(object_cursor_next(cursor, &object, &error));
	g_assert_null(object);
	g_assert_true(hash_store_commit(store, &error));
}

static void test_name_may_hold_any_bytes(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	uint8_t name[255];
	Object object = { .id = 1, .inode = 256, .name = name, .name_bytes = sizeof(name) };

	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = (uint8_t)(i + 1);
	put(store, &object);
	check_equal(find(store, 1), &object);
	object.name_bytes = 0;
	put(store, &object);
	check_equal(find(store, 1), &object);
}

static void test_inode_that_would_break_the_order_is_refused(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autoptr(GError) error = NULL;
	const Object object = { .id = 1, .inode = UINT64_MAX };

	g_assert_false(hash_store_put(store, &object, &error));
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED);
	g_clear_error(&error);
	g_assert_true(hash_store_commit(store, &error));
}

/* The state of the half-read object @id must be that of @done blocks; 0: none. */
static void check_half(HashStore *store, uint32_t id, uint64_t done)
{
	g_autoptr(GBytes) state = NULL;
	GError *error = NULL;
	uint64_t blocks;

	g_assert_true(hash_store_get_half(store, id, &blocks, &state, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(blocks, ==, done);
	g_assert_cmpint(!!state, ==, done > 0);
	if (state)
		g_assert_cmpmem(g_bytes_get_data(state, NULL), g_bytes_get_size(state), &done,
				sizeof(done));
}

static void put_half(HashStore *store, uint32_t id, uint64_t done)
{
	GError *error = NULL;

	g_assert_true(hash_store_put_half(store, id, done, &done, sizeof(done), &error));
	g_assert_no_error(error);
}

static void test_half_read_state_goes_with_its_object(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	char name[32];
	Object object;

	for (uint32_t id = 1; id <= 5; id++) {
		object = object_of(id, 5, id, name);
		object.state = OBJECT_HALF;
		put(store, &object);
		put_half(store, id, id * 1000);
		put_half(store, id, id * 2000);
	}
	g_assert_true(hash_store_commit(store, &error));
	g_clear_pointer(&store, hash_store_close);
	store = store_fixture_open(fixture);

	object = object_of(1, 5, 1, name);
	put(store, &object);
	object = object_of(2, 5, 2, name);
	object.state = OBJECT_SKIPPED;
	put(store, &object);
	g_assert_true(hash_store_drop(store, 5, 3, &error));
	/* Another version of the file begins. */
	object = object_of(10, 5, 4, name);
	object.state = OBJECT_HALF;
	put(store, &object);
	/* The same version continues. */
	object = object_of(5, 5, 5, name);
	object.state = OBJECT_HALF;
	put(store, &object);

	check_half(store, 1, 0);
	check_half(store, 2, 0);
	check_half(store, 3, 0);
	check_half(store, 4, 0);
	check_half(store, 5, 10000);
	check_half(store, 10, 0);
}

static void test_a_file_takes_less_than_100_bytes(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	const uint32_t n = 50000;
	uint64_t empty_bytes = hash_store_file_bytes(store);

	for (uint32_t id = 1; id <= n; id++) {
		uint64_t random = (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15);
		const Object object = {
			.id = id,
			.subvolume = 257,
			.inode = 256 + id * 3,
			.generation = (uint32_t)random,
			.size_bytes = random >> 44,
			.btime_nsec = INT64_C(1790000000000000000) + id * INT64_C(1000000),
			.mtime_nsec = INT64_C(1700000000000000000) + (int64_t)(random >> 10),
			.ctime_nsec = INT64_C(1790000000000000000) + id * INT64_C(1010000),
			.digest = random * 3,
			.parent = 256 + id,
			.name = (const uint8_t *)"a-common-name.c",
			.name_bytes = 15,
		};

		put(store, &object);
	}
	g_assert_true(hash_store_commit(store, &error));
	g_clear_pointer(&store, hash_store_close);
	store = store_fixture_open(fixture);
	g_assert_cmpuint((hash_store_file_bytes(store) - empty_bytes) / n, <, 100);
}

static void check_directory(HashStore *store, uint64_t inode, const char *name)
{
	const DirectoryName *found;
	GError *error = NULL;

	g_assert_true(hash_store_find_directory(store, 5, inode, &found, &error));
	g_assert_no_error(error);
	if (!name) {
		g_assert_null(found);
		return;
	}
	g_assert_cmpuint(found->inode, ==, inode);
	g_assert_cmpuint(found->subvolume, ==, 5);
	g_assert_cmpuint(found->parent_subvolume, ==, 6);
	g_assert_cmpuint(found->parent, ==, inode - 1);
	g_assert_cmpuint(found->stamp, ==, UINT64_MAX - inode);
	g_assert_cmpmem(found->name, found->name_bytes, name, strlen(name));
}

static void put_directory(HashStore *store, uint64_t inode, const char *name)
{
	const DirectoryName directory = {
		.subvolume = 5,
		.inode = inode,
		.parent_subvolume = 6,
		.parent = inode - 1,
		.name = (const uint8_t *)name,
		.name_bytes = strlen(name),
		.stamp = UINT64_MAX - inode,
	};
	GError *error = NULL;

	g_assert_true(hash_store_put_directory(store, &directory, &error));
	g_assert_no_error(error);
}

static void test_directories_are_put_replaced_found_and_dropped(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autoptr(DirectoryCursor) cursor = NULL;
	g_autofree char *path = g_strnfill(5000, 'p');
	const DirectoryName *name;
	GError *error = NULL;
	uint64_t n = 0;

	for (uint64_t inode = 300; inode > 0; inode--)
		put_directory(store, inode, "old");
	put_directory(store, 1, path);
	put_directory(store, 2, "new\xff\n");
	put_directory(store, 3, "");
	g_assert_true(hash_store_drop_directory(store, 5, 300, &error));
	g_assert_true(hash_store_drop_directory(store, 5, 300, &error));
	check_directory(store, 1, path);
	check_directory(store, 2, "new\xff\n");
	check_directory(store, 3, "");
	check_directory(store, 300, NULL);
	g_assert_true(hash_store_commit(store, &error));

	cursor = directory_cursor_open(store, &error);
	for (;;) {
		g_assert_true(directory_cursor_next(cursor, &name, &error));
		if (!name)
			break;
		g_assert_cmpuint(name->inode, ==, ++n);
		g_assert_cmpuint(name->stamp, ==, UINT64_MAX - n);
		g_assert_true(hash_store_drop_directory(store, 5, n, &error));
	}
	g_assert_cmpuint(n, ==, 299);
}

static void test_doubted_directories_have_no_stamp(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	const DirectoryName *found;

	put_directory(store, 1, "a");
	put_directory(store, 2, "b");
	g_assert_true(hash_store_doubt_directories(store, NULL));
	for (uint64_t inode = 1; inode <= 2; inode++) {
		g_assert_true(hash_store_find_directory(store, 5, inode, &found, NULL));
		g_assert_cmpuint(found->stamp, ==, 0);
		g_assert_cmpuint(found->parent, ==, inode - 1);
	}
}

static void test_open_extents_are_found_in_order(void)
{
	static const uint64_t addresses[] = { 4096, 12288, INT64_MAX };
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	uint64_t found = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++)
		g_assert_true(hash_store_put_open_extent(store, addresses[i], &error));
	for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++) {
		g_assert_true(hash_store_next_open_extent(store, i ? addresses[i - 1] + 1 : 0,
							  &found, &error));
		g_assert_cmpuint(found, ==, addresses[i]);
		g_assert_true(hash_store_next_open_extent(store, addresses[i], &found, &error));
		g_assert_cmpuint(found, ==, addresses[i]);
	}

	g_assert_true(hash_store_drop_open_extent(store, INT64_MAX, &error));
	g_assert_true(hash_store_next_open_extent(store, 12289, &found, &error));
	g_assert_cmpuint(found, ==, UINT64_MAX);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/objects/object-comes-back-as-it-was-put",
			test_object_comes_back_as_it_was_put);
	g_test_add_func("/objects/a-head-comes-back-with-and-without-the-rest",
			test_a_head_comes_back_with_and_without_the_rest);
	g_test_add_func("/objects/changes-come-back-with-what-else-is-known",
			test_changes_come_back_with_what_else_is_known);
	g_test_add_func("/objects/replaced-object-is-found-by-its-new-id-only",
			test_replaced_object_is_found_by_its_new_id_only);
	g_test_add_func("/objects/dropped-object-is-gone-and-dropping-it-again-is-no-error",
			test_dropped_object_is_gone_and_dropping_it_again_is_no_error);
	g_test_add_func("/objects/an-id-is-free-again",
			test_an_id_is_free_again_when_its_object_is_dropped);
	g_test_add_func("/objects/count-is-right-after-opening-again",
			test_count_is_right_after_opening_again);
	g_test_add_func("/objects/cursor-sees-all-in-order-while-they-are-changed",
			test_cursor_sees_all_in_order_while_they_are_changed);
	g_test_add_func("/objects/name-may-hold-any-bytes", test_name_may_hold_any_bytes);
	g_test_add_func("/objects/inode-that-would-break-the-order-is-refused",
			test_inode_that_would_break_the_order_is_refused);
	g_test_add_func("/objects/half-read-state-goes-with-its-object",
			test_half_read_state_goes_with_its_object);
	g_test_add_func("/objects/a-file-takes-less-than-100-bytes",
			test_a_file_takes_less_than_100_bytes);
	g_test_add_func("/objects/directories-are-put-replaced-found-and-dropped",
			test_directories_are_put_replaced_found_and_dropped);
	g_test_add_func("/objects/open-extents-are-found-in-order",
			test_open_extents_are_found_in_order);
	g_test_add_func("/objects/doubted-directories-have-no-stamp",
			test_doubted_directories_have_no_stamp);

	g_test_add_func("/objects/rows-that-cannot-be-are-refused",
			test_rows_that_cannot_be_are_refused);
	g_test_add_func("/objects/an-extent-that-no-btrfs-has-is-not-kept",
			test_an_extent_that_no_btrfs_has_is_not_kept);
	return g_test_run();
}
