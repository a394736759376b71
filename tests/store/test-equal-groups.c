/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/equal-groups.h"
#include "tests/store/store-fixture.h"

#define MEMORY_BYTES ((size_t)1 << 20)

static void put(HashStore *store, uint64_t subvolume, uint64_t inode, uint64_t digest,
		uint64_t size_bytes, ObjectState state)
{
	Object object = { .subvolume = subvolume,
			  .inode = inode,
			  .size_bytes = size_bytes,
			  .digest = digest,
			  .state = state };
	GError *error = NULL;

	g_assert_true(hash_store_new_object(store, &object.id, &error));
	g_assert_true(hash_store_put(store, &object, &error));
	g_assert_no_error(error);
}

/* Each group as "SIZExNUMBER(ids)". */
static char *list(HashStore *store, EqualKind kind, uint64_t min_bytes)
{
	GError *error = NULL;
	GString *text = g_string_new(NULL);
	const EqualGroup *group;

	g_assert_true(hash_store_commit(store, &error));
	g_autoptr(EqualGroups) groups =
		equal_groups_open(store, kind, min_bytes, MEMORY_BYTES, &error);
	g_assert_no_error(error);
	while (true) {
		g_assert_true(equal_groups_next(groups, &group, &error));
		if (!group)
			return g_string_free(text, FALSE);
		g_string_append_printf(text, "%dx%d(", (int)group->size_bytes,
				       (int)group->n_objects);
		for (size_t i = 0; i < group->n_ids; i++)
			g_string_append_printf(text, i ? " %u" : "%u", group->ids[i]);
		g_string_append(text, ") ");
	}
}

static void assert_lists(HashStore *store, EqualKind kind, uint64_t min_bytes, const char *expected)
{
	g_autofree char *listed = list(store, kind, min_bytes);

	g_assert_cmpstr(listed, ==, expected);
}

static void test_groups_come_by_what_they_could_free(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	put(store, 5, 1, 10, 1000, OBJECT_DONE);
	put(store, 5, 2, 20, 400, OBJECT_DONE);
	put(store, 5, 3, 10, 1000, OBJECT_DONE);
	put(store, 5, 4, 20, 400, OBJECT_DONE);
	put(store, 5, 5, 20, 400, OBJECT_DONE);
	put(store, 5, 6, 20, 400, OBJECT_DONE);
	put(store, 5, 7, 30, 5000, OBJECT_DONE);
	put(store, 5, 8, 40, 10, OBJECT_DONE);
	put(store, 5, 9, 40, 10, OBJECT_DONE);
	assert_lists(store, EQUAL_FILES, 0, "400x4(2 4 5 6) 1000x2(1 3) 10x2(8 9) ");
	assert_lists(store, EQUAL_FILES, 11, "400x4(2 4 5 6) 1000x2(1 3) ");
	assert_lists(store, EQUAL_FILES, 1001, "");
}

static void test_what_was_not_read_or_has_another_length_is_in_no_group(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	put(store, 5, 1, 10, 1000, OBJECT_DONE);
	put(store, 5, 2, 10, 1000, OBJECT_SEEN);
	put(store, 5, 3, 10, 1000, OBJECT_SKIPPED);
	put(store, 5, 4, 10, 1000, OBJECT_HALF);
	put(store, 5, 5, 10, 2000, OBJECT_DONE);
	put(store, 5, 6, 11, 0, OBJECT_DONE);
	put(store, 5, 7, 11, 0, OBJECT_DONE);
	assert_lists(store, EQUAL_FILES, 0, "");
}

static void test_extents_of_btrfs_and_files_are_told_apart(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();

	fixture->options.kind = "btrfs";
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	put(store, OBJECT_EXTENTS, 4096, 10, 1000, OBJECT_DONE);
	put(store, OBJECT_EXTENTS, 8192, 10, 1000, OBJECT_DONE);
	put(store, OBJECT_STRETCHES, 1, 10, 1000, OBJECT_DONE);
	put(store, 256, 257, 10, 1000, OBJECT_DONE);
	put(store, 256, 258, 10, 1000, OBJECT_DONE);
	assert_lists(store, EQUAL_EXTENTS, 0, "1000x2(1 2) ");
	assert_lists(store, EQUAL_FILES, 0, "1000x2(4 5) ");
}

static void test_an_extent_that_several_places_show_is_a_group(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	GError *error = NULL;

	fixture->options.kind = "btrfs";
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	put(store, OBJECT_EXTENTS, 4096, 10, 1000, OBJECT_DONE);
	put(store, OBJECT_EXTENTS, 8192, 11, 1000, OBJECT_DONE);
	for (uint64_t subvolume = OBJECT_EXTENTS; subvolume < 300; subvolume += 256) {
		Object shared = { .subvolume = subvolume,
				  .inode = 12288,
				  .size_bytes = 1000,
				  .digest = 12 + subvolume,
				  .state = OBJECT_DONE,
				  .flags = OBJECT_SHARED };

		g_assert_true(hash_store_new_object(store, &shared.id, &error));
		g_assert_true(hash_store_put(store, &shared, &error));
	}
	assert_lists(store, EQUAL_EXTENTS, 0, "1000x1(3) ");
	assert_lists(store, EQUAL_OR_ALONE_EXTENTS, 0, "1000x1(1) 1000x1(2) 1000x1(3) ");
	assert_lists(store, EQUAL_FILES, 0, "");
}

static void test_files_of_xfs_are_in_no_subvolume(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();

	fixture->options.kind = "XFS";
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	put(store, 0, 128, 10, 1000, OBJECT_DONE);
	put(store, 0, 129, 10, 1000, OBJECT_DONE);
	assert_lists(store, EQUAL_FILES, 0, "1000x2(1 2) ");
	assert_lists(store, EQUAL_EXTENTS, 0, "");
}

/* More than the memory limit holds at once. */
static void test_many_groups_are_sorted_on_the_disk(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	const EqualGroup *group;
	uint64_t before = UINT64_MAX, n = 0;

	for (uint64_t i = 0; i < 60000; i++)
		put(store, 5, i + 1, i / 2, 1 + i / 2 * 7919 % 30000, OBJECT_DONE);
	g_assert_true(hash_store_commit(store, &error));
	g_autoptr(EqualGroups) groups =
		equal_groups_open(store, EQUAL_FILES, 0, MEMORY_BYTES, &error);
	g_assert_no_error(error);
	do {
		g_assert_true(equal_groups_next(groups, &group, &error));
		if (!group)
			break;
		g_assert_cmpuint(equal_group_spare_bytes(group), <=, before);
		g_assert_cmpuint(group->n_ids, ==, 2);
		g_assert_cmpuint(group->ids[0] + 1, ==, group->ids[1]);
		before = equal_group_spare_bytes(group);
		n++;
	} while (true);
	g_assert_cmpuint(n, ==, 30000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/equal-groups/order", test_groups_come_by_what_they_could_free);
	g_test_add_func("/equal-groups/not-read",
			test_what_was_not_read_or_has_another_length_is_in_no_group);
	g_test_add_func("/equal-groups/extents", test_extents_of_btrfs_and_files_are_told_apart);
	g_test_add_func("/equal-groups/shared-extent",
			test_an_extent_that_several_places_show_is_a_group);
	g_test_add_func("/equal-groups/xfs", test_files_of_xfs_are_in_no_subvolume);
	g_test_add_func("/equal-groups/many", test_many_groups_are_sorted_on_the_disk);
	return g_test_run();
}
