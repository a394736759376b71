/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/groups.h"
#include "hashstore/database/notes.h"
#include "hashstore/objects/equal-groups.h"
#include "hashstore/objects/equal-list.h"
#include "hashstore/objects/kept-groups.h"
#include "tests/store/store-fixture.h"

#define MEMORY_BYTES ((size_t)1 << 20)
#define INODES       1500

/* Times a number: a digest, of which the high bits differ as those of real ones. */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* A random store, and passes over it. */
typedef struct {
	StoreFixture *fixture;
	HashStore *store;
	GRand *rand;
	uint64_t subvolumes[2]; /* of the objects: files, or extents and files */
	uint32_t digests;       /* so many different ones */
} World;

/* One object of a group, in the order of groups. */
typedef struct {
	EqualRow row;
	uint32_t id;
} Expected;

static void world_open(World *world, const char *kind, uint32_t digests)
{
	*world = (World){ .fixture = store_fixture_new(), .digests = digests };
	world->rand = g_rand_new_with_seed(g_test_rand_int());
	world->fixture->options.kind = kind;
	world->store = store_fixture_open(world->fixture);
	world->subvolumes[0] = 256;
	world->subvolumes[1] = strcmp(kind, "btrfs") == 0 ? OBJECT_EXTENTS : 257;
}

static void world_close(World *world)
{
	hash_store_close(world->store);
	store_fixture_free(world->fixture);
	g_rand_free(world->rand);
}

/* A tenth of all objects are loose: no anchor leads to them. */
static void put(World *world, uint64_t inode)
{
	uint32_t digest = 1 + (uint32_t)g_rand_int_range(world->rand, 0, (int)world->digests);
	Object object = { .subvolume = world->subvolumes[g_rand_int_range(world->rand, 0, 2)],
			  .inode = inode,
			  .digest = digest,
			  .size_bytes = 1 + digest % 7 * 1000,
			  .state = g_rand_int_range(world->rand, 0, 20) ? OBJECT_DONE
									: OBJECT_SKIPPED,
			  .flags = g_rand_int_range(world->rand, 0, 5) ? 0 : OBJECT_SHARED };
	GError *error = NULL;

	check_done(hash_store_new_object(world->store, &object.id, &error), &error);
	const Anchor anchor = { digest, object.id, ANCHOR_WHOLE_BLOCK };
	check_done(digest % 10 ? hash_store_put_anchor(world->store, &anchor, &error)
			       : hash_store_put_loose_object(world->store, object.id, &error),
		   &error);
	check_done(hash_store_put(world->store, &object, &error), &error);
}

static void drop(World *world, uint64_t inode)
{
	GError *error = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(world->subvolumes); i++)
		check_done(hash_store_drop(world->store, world->subvolumes[i], inode, &error),
			   &error);
}

/* Give a few objects new ids, with and without anchors. */
static void renew_some(World *world)
{
	uint32_t next = hash_store_next_object(world->store), ids[5];
	GError *error = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(ids); i++)
		ids[i] = (uint32_t)g_rand_int_range(world->rand, 1, (int)next);
	check_done(hash_store_renew(world->store, ids, G_N_ELEMENTS(ids), &error), &error);
}

static void change_some(World *world, int n_put, int n_dropped)
{
	GError *error = NULL;

	for (int i = 0; i < n_put; i++)
		put(world, 1 + (uint64_t)g_rand_int_range(world->rand, 0, INODES));
	for (int i = 0; i < n_dropped; i++)
		drop(world, 1 + (uint64_t)g_rand_int_range(world->rand, 0, INODES));
	check_done(hash_store_commit(world->store, &error), &error);
	renew_some(world);
	check_done(hash_store_commit(world->store, &error), &error);
}

static bool is_done(uint32_t object, void *data)
{
	World *world = data;
	GError *error = NULL;
	Object stored;
	bool found;

	check_done(hash_store_peek(world->store, object, &stored, &found, &error), &error);
	return found && stored.state == OBJECT_DONE;
}

/* Walk over at most so many groups, as a pass does. */
static void match(World *world, int most)
{
	GError *error = NULL;
	g_autoptr(Groups) groups = groups_open(world->store, is_done, world, &error);
	const Group *group;

	g_assert_no_error(error);
	for (int i = 0; i < most; i++) {
		check_done(groups_next(groups, &group, &error), &error);
		if (!group)
			return;
	}
}

static void pass(World *world)
{
	GError *error = NULL;

	check_done(hash_store_commit(world->store, &error), &error);
	match(world, INT_MAX);
	check_done(hash_store_update_equal_list(world->store, &error), &error);
	/* It is settled, and no walk meets it. */
	put(world, 1 + (uint64_t)g_rand_int_range(world->rand, 0, INODES));
	check_done(hash_store_settle(world->store, is_done, world, &error), &error);
	check_done(hash_store_commit(world->store, &error), &error);
}

static int compare_objects(const void *a, const void *b)
{
	const Expected *one = a, *other = b;

	if (one->row.digest != other->row.digest)
		return one->row.digest < other->row.digest ? -1 : 1;
	return (one->id > other->id) - (one->id < other->id);
}

static int compare_expected(const void *a, const void *b)
{
	const Expected *one = a, *other = b;
	int order = equal_row_compare(&one->row, &other->row);

	return order ? order : (one->id > other->id) - (one->id < other->id);
}

static bool is_wanted(const World *world, const Object *object, EqualKind kind, uint64_t min_bytes)
{
	bool is_extent =
		hash_store_has_extents(world->store) && object->subvolume == OBJECT_EXTENTS;

	return object->state == OBJECT_DONE && object->size_bytes >= min_bytes &&
	       is_extent == (kind != EQUAL_FILES);
}

/* All groups, from all objects; the size follows from the digest here. */
static GArray *compute(World *world, EqualKind kind, uint64_t min_bytes)
{
	GError *error = NULL;
	g_autoptr(ObjectCursor) cursor = object_cursor_open(world->store, &error);
	GArray *all = g_array_new(false, false, sizeof(Expected));
	GArray *expected = g_array_new(false, false, sizeof(Expected));
	g_autoptr(GHashTable) shared = g_hash_table_new(NULL, NULL);
	const Object *object;

	while (true) {
		check_done(object_cursor_next(cursor, &object, &error), &error);
		if (!object)
			break;
		if (!is_wanted(world, object, kind, min_bytes))
			continue;
		const Expected one = { { object->digest, object->size_bytes, 0 }, object->id };
		g_array_append_val(all, one);
		if (object->flags & OBJECT_SHARED)
			g_hash_table_add(shared, GUINT_TO_POINTER(object->id));
	}
	g_array_sort(all, compare_objects);
	for (guint first = 0, end; first < all->len; first = end) {
		Expected *group = &g_array_index(all, Expected, first);
		bool is_single = kind == EQUAL_OR_ALONE_EXTENTS ||
				 (kind == EQUAL_EXTENTS &&
				  g_hash_table_contains(shared, GUINT_TO_POINTER(group->id)));

		for (end = first; end < all->len && g_array_index(all, Expected, end).row.digest ==
							    group->row.digest;)
			end++;
		for (guint i = first; i < end && (end - first > 1 || is_single); i++) {
			Expected one = g_array_index(all, Expected, i);

			one.row.n_objects = end - first;
			g_array_append_val(expected, one);
		}
	}
	g_array_sort(expected, compare_expected);
	g_array_unref(all);
	return expected;
}

/* What the store answers is what follows from all objects. */
static void assert_same(World *world, EqualKind kind, uint64_t min_bytes)
{
	GError *error = NULL;
	g_autoptr(GArray) expected = compute(world, kind, min_bytes);
	g_autoptr(EqualGroups) groups =
		equal_groups_open(world->store, kind, min_bytes, MEMORY_BYTES, &error);
	const EqualGroup *group;
	guint at = 0;

	g_assert_no_error(error);
	while (true) {
		check_done(equal_groups_next(groups, &group, &error), &error);
		if (!group)
			break;
		g_assert_cmpuint(group->n_ids, ==, group->n_objects);
		g_assert_cmpuint(at + group->n_ids, <=, expected->len);
		for (size_t i = 0; i < group->n_ids; i++, at++) {
			const Expected *one = &g_array_index(expected, Expected, at);

			g_assert_cmpuint(group->ids[i], ==, one->id);
			g_assert_cmpuint(group->size_bytes, ==, one->row.size_bytes);
			g_assert_cmpuint(equal_group_spare_bytes(group), ==,
					 equal_row_spare_bytes(&one->row));
		}
	}
	g_assert_cmpuint(at, ==, expected->len);
}

static void assert_all_same(World *world)
{
	assert_same(world, EQUAL_FILES, 0);
	assert_same(world, EQUAL_FILES, 3000);
	assert_same(world, EQUAL_EXTENTS, 0);
	assert_same(world, EQUAL_OR_ALONE_EXTENTS, 0);
}

/* Whether the list answers how many groups of files there are with most to free. */
static int count_kept(World *world, bool are_files)
{
	g_autoptr(GArray) ids = g_array_new(false, false, sizeof(uint32_t));
	g_autoptr(KeptGroups) kept = NULL;
	GError *error = NULL;
	EqualRow row;
	bool found = true;
	int n = 0;

	check_done(kept_groups_open(world->store, are_files, 0, &kept, &error), &error);
	while (kept && found) {
		check_done(kept_groups_next(kept, &row, ids, &found, &error), &error);
		n += found;
	}
	return kept ? n : -1;
}

static void test_random_stores_answer_as_all_objects_do(void)
{
	static const char *const kinds[] = { "XFS", "btrfs" };

	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		World world;

		world_open(&world, kinds[i], 600);
		change_some(&world, INODES, 0);
		assert_all_same(&world);
		pass(&world);
		assert_all_same(&world);
		for (int round = 0; round < 6; round++) {
			change_some(&world, g_rand_int_range(world.rand, 0, 150),
				    g_rand_int_range(world.rand, 0, 100));
			assert_all_same(&world);
			/* Each third pass is stopped while it matches. */
			if (round % 3 == 2)
				match(&world, 5);
			else
				pass(&world);
			assert_all_same(&world);
		}
		g_assert_cmpint(count_kept(&world, world.subvolumes[1] != OBJECT_EXTENTS), >, 50);
		world_close(&world);
	}
}

/* A pass with few new objects adds them to the list, and does not read all objects. */
static void test_few_new_objects_are_added(void)
{
	GError *error = NULL;
	uint64_t before, after;
	World world;

	world_open(&world, "XFS", 600);
	change_some(&world, INODES, 0);
	pass(&world);
	for (int round = 0; round < 5; round++) {
		check_done(
			hash_store_get_number(world.store, "equal-groups-below", &before, &error),
			&error);
		change_some(&world, 50, 50);
		pass(&world);
		check_done(hash_store_get_number(world.store, "equal-groups-below", &after, &error),
			   &error);
		g_assert_cmpuint(after, >=, before + 50);
		g_assert_cmpuint(after + 1, ==, hash_store_next_object(world.store));
		assert_all_same(&world);
	}
	world_close(&world);
}

/* More groups than the list takes: those with less to free are found among all objects. */
static void test_groups_beyond_the_list_follow(void)
{
	World world;

	world_open(&world, "XFS", 1);
	for (int round = 0; round < 2; round++) {
		for (uint64_t inode = 1; inode <= 18000; inode++) {
			/* Pairs; each round changes a small part. */
			if (round > 0 && inode % 40 > 1)
				continue;
			Object object = { .subvolume = 256,
					  .inode = inode,
					  .digest = (inode / 2 + (uint64_t)round * 100000) * SPREAD,
					  .size_bytes = 1 + inode / 2,
					  .state = OBJECT_DONE };
			GError *error = NULL;

			check_done(hash_store_new_object(world.store, &object.id, &error), &error);
			const Anchor anchor = { object.digest, object.id, ANCHOR_WHOLE_BLOCK };
			check_done(hash_store_put_anchor(world.store, &anchor, &error), &error);
			check_done(hash_store_put(world.store, &object, &error), &error);
		}
		pass(&world);
		g_assert_cmpint(count_kept(&world, true), >=, EQUAL_TOP_KEPT / 2);
		g_assert_cmpint(count_kept(&world, true), <=, EQUAL_TOP_MOST);
		assert_same(&world, EQUAL_FILES, 0);
		assert_same(&world, EQUAL_FILES, 8000);
	}
	world_close(&world);
}

/* A store of version 13 has no list; the next pass makes it. */
static void test_a_store_of_an_earlier_version_is_answered_and_then_listed(void)
{
	GError *error = NULL;
	World world;

	world_open(&world, "XFS", 600);
	change_some(&world, INODES, 0);
	pass(&world);
	hash_store_close(world.store);
	store_fixture_set_back(world.fixture->path, 13);
	world.store = hash_store_open_to_read(world.fixture->path, &error);
	g_assert_no_error(error);
	assert_all_same(&world);
	g_assert_cmpint(count_kept(&world, true), ==, -1);
	hash_store_close(world.store);

	world.store = store_fixture_open(world.fixture);
	assert_all_same(&world);
	pass(&world);
	g_assert_cmpint(count_kept(&world, true), >, 50);
	assert_all_same(&world);
	world_close(&world);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/equal-list/random", test_random_stores_answer_as_all_objects_do);
	g_test_add_func("/equal-list/few", test_few_new_objects_are_added);
	g_test_add_func("/equal-list/beyond", test_groups_beyond_the_list_follow);
	g_test_add_func("/equal-list/earlier-version",
			test_a_store_of_an_earlier_version_is_answered_and_then_listed);
	return g_test_run();
}
