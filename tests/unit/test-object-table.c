/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/object-table.h"
#include "hashstore/database/store-state.h"
#include "tests/unit/fake-btrfs.h"
#include "tests/unit/pass-fixture.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

static void count(ObjectTable *table, uint32_t object, unsigned n)
{
	while (n-- > 0)
		object_table_count(table, object);
}

static void assert_before(ObjectTable *table, uint32_t first, uint32_t second)
{
	g_assert_cmpuint(object_table_rank(table, first), <, object_table_rank(table, second));
}

static void test_facts_are_those_of_the_store(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t plain = pass_fixture_put(fixture, 8, 0);
	uint32_t immutable = pass_fixture_put(fixture, 8, OBJECT_IMMUTABLE);
	uint32_t no_cow = pass_fixture_put(fixture, 8, OBJECT_NO_COW | OBJECT_RACY);
	uint32_t shared = pass_fixture_put(fixture, 8, OBJECT_SHARED | OBJECT_KEEP_ZEROS);
	uint32_t half = pass_fixture_put_object(
		fixture, &(Object){ .size_bytes = 1 << 30, .state = OBJECT_HALF });
	uint32_t skipped = pass_fixture_put_object(
		fixture, &(Object){ .state = OBJECT_SKIPPED, .skip_reason = SKIP_SWAP_FILE });
	g_autoptr(ObjectTable) table = pass_fixture_table(fixture);

	g_assert_cmpuint(object_table_facts(table, plain), ==, FACT_LIVE);
	g_assert_cmpuint(object_table_facts(table, immutable), ==, FACT_LIVE | FACT_IMMUTABLE);
	g_assert_cmpuint(object_table_facts(table, no_cow), ==, FACT_LIVE | FACT_NO_COW);
	g_assert_cmpuint(object_table_facts(table, shared), ==,
			 FACT_LIVE | FACT_SHARED | FACT_KEEP_ZEROS);
	g_assert_cmpuint(object_table_facts(table, half), ==, 0);
	g_assert_cmpuint(object_table_facts(table, skipped), ==, 0);

	g_assert_true(object_table_is_live(plain, table));
	g_assert_false(object_table_is_live(half, table));
	g_assert_false(object_table_is_live(skipped, table));
}

static void test_an_id_that_no_object_has_knows_nothing(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t gone = pass_fixture_put(fixture, 8, 0);
	uint32_t stays = pass_fixture_put(fixture, 8, 0);
	g_autoptr(ObjectTable) table = NULL;

	g_assert_true(hash_store_drop(fixture->pass.store, 0, 1000 + gone, NULL));
	table = pass_fixture_table(fixture);

	g_assert_cmpuint(object_table_facts(table, 0), ==, 0);
	g_assert_cmpuint(object_table_facts(table, gone), ==, 0);
	g_assert_cmpuint(object_table_facts(table, stays), ==, FACT_LIVE);
	g_assert_cmpuint(object_table_facts(table, stays + 1000), ==, 0);
	g_assert_cmpuint(object_table_facts(table, UINT32_MAX), ==, 0);
	object_table_add_fact(table, UINT32_MAX, FACT_NOTED);
	object_table_count(table, UINT32_MAX);
	g_assert_false(object_table_is_live(UINT32_MAX, table));
}

static void test_a_hot_file_is_a_source_rather_than_one_with_more_in_common(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t common = pass_fixture_put(fixture, 8, 0);
	uint32_t hot = pass_fixture_put(fixture, 8, 0);
	uint32_t shared = pass_fixture_put(fixture, 8, OBJECT_SHARED);
	uint32_t immutable = pass_fixture_put(fixture, 8, OBJECT_IMMUTABLE);
	g_autoptr(ObjectTable) table = pass_fixture_table(fixture);

	count(table, common, 1000);
	assert_before(table, common, hot);
	object_table_add_fact(table, hot, FACT_HOT);
	assert_before(table, hot, common);
	assert_before(table, shared, hot);
	assert_before(table, immutable, shared);
}

static void test_what_snapshots_hold_goes_before_all_others(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t held = pass_fixture_put(fixture, 8, OBJECT_HELD | OBJECT_SHARED);
	uint32_t immutable = pass_fixture_put(fixture, 8, OBJECT_IMMUTABLE);
	uint32_t shared = pass_fixture_put(fixture, 8, OBJECT_SHARED);

	for (SnapshotPolicy policy = SNAPSHOTS_AUTO; policy <= SNAPSHOTS_SKIP; policy++) {
		bool is_left = policy == SNAPSHOTS_AUTO || policy == SNAPSHOTS_WRITABLE;
		g_autoptr(ObjectTable) table = NULL;

		fixture->settings.read_only_snapshots = policy;
		table = pass_fixture_table(fixture);
		g_assert_cmpint((object_table_facts(table, held) & FACT_HELD) != 0, ==, is_left);
		assert_before(table, immutable, held);
		if (is_left)
			assert_before(table, shared, held);
	}
}

static void test_of_what_is_settled_that_comes_last_which_snapshots_hold(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t held = pass_fixture_put(fixture, 8, OBJECT_HELD | OBJECT_SHARED);
	uint32_t settled = pass_fixture_put(fixture, 8, 0);
	g_autoptr(ObjectTable) table = NULL;
	uint32_t new;

	pass_fixture_settle(fixture);
	new = pass_fixture_put(fixture, 8, OBJECT_SHARED);
	table = pass_fixture_table(fixture);
	assert_before(table, settled, held);
	assert_before(table, held, new);
}

static void test_what_was_settled_is_known_as_such(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t old = pass_fixture_put(fixture, 8, 0);
	g_autoptr(ObjectTable) table = NULL;
	uint32_t new;

	pass_fixture_settle(fixture);
	new = pass_fixture_put(fixture, 8, 0);
	table = pass_fixture_table(fixture);
	g_assert_cmpuint(object_table_facts(table, old), ==, FACT_LIVE | FACT_SETTLED);
	g_assert_cmpuint(object_table_facts(table, new), ==, FACT_LIVE);
}

static void test_a_stretch_and_its_extents_have_one_rank(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	Object stretch = { .subvolume = OBJECT_STRETCHES, .inode = 7, .size_bytes = 1 << 24 };
	Object extent = { .inode = 1 << 30, .size_bytes = 4096, .parent = 7 };
	Object longer = { .inode = 1 << 29, .size_bytes = 1 << 17 };
	Object shorter = { .inode = 1 << 28, .size_bytes = 1 << 14 };
	uint32_t joined, whole, after, before;
	g_autoptr(ObjectTable) table = NULL;

	stretch.generation = extent.generation = 1 << 15;
	whole = pass_fixture_put_object(fixture, &stretch);
	joined = pass_fixture_put_object(fixture, &extent);
	before = pass_fixture_put_object(fixture, &longer);
	after = pass_fixture_put_object(fixture, &shorter);
	g_assert_true(hash_store_commit(fixture->pass.store, NULL));
	table = object_table_new(fixture->pass.store, RANK_BY_SIZE, &fixture->settings, NULL, NULL);
	g_assert_nonnull(table);

	g_assert_cmpuint(object_table_facts(table, whole), ==,
			 FACT_LIVE | FACT_EXTENT | FACT_STRETCH);
	g_assert_cmpuint(object_table_facts(table, joined), ==, FACT_LIVE | FACT_EXTENT);
	count(table, whole, 1000);
	g_assert_cmpuint(object_table_rank(table, whole) >> 32, ==,
			 object_table_rank(table, joined) >> 32);
	assert_before(table, before, whole);
	assert_before(table, joined, after);
}

static void test_extents_much_alike_in_length_come_in_the_order_of_their_ids(void)
{
	static const uint64_t sizes[] = { 1 << 23, 1 << 27, 1 << 20, 1 << 22, 1 << 18,
					  1 << 19, 1 << 17, 1 << 15, 1 << 14 };
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(ObjectTable) table = NULL;
	uint32_t ids[G_N_ELEMENTS(sizes)];

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		Object extent = { .inode = (i + 1) << 30, .size_bytes = sizes[i] };

		ids[i] = pass_fixture_put_object(fixture, &extent);
	}
	g_assert_true(hash_store_commit(fixture->pass.store, NULL));
	table = object_table_new(fixture->pass.store, RANK_BY_SIZE, &fixture->settings, NULL, NULL);
	g_assert_nonnull(table);

	count(table, ids[1], 5);
	for (size_t i = 1; i < G_N_ELEMENTS(sizes); i++)
		assert_before(table, ids[i - 1], ids[i]);
	object_table_add_fact(table, ids[8], FACT_LOCKED);
	assert_before(table, ids[8], ids[0]);
}

static void test_zeros_count_against_an_extent_unless_they_are_kept(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	const Object rows[] = {
		{ .size_bytes = 1 << 22, .btime_nsec = 1 << 20 },
		{ .size_bytes = 1 << 20 },
		{ .size_bytes = 1 << 19 },
		{ .size_bytes = 1 << 16 },
		{ .size_bytes = 1 << 21, .btime_nsec = 1 << 20 },
		{ .size_bytes = 1 << 12, .btime_nsec = 1 << 12 },
	};
	uint32_t ids[G_N_ELEMENTS(rows)];
	g_autoptr(ObjectTable) table = NULL;
	g_autoptr(ObjectTable) kept = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		ids[i] = pass_fixture_put_object(fixture, &rows[i]);
	g_assert_true(hash_store_commit(fixture->pass.store, NULL));
	table = object_table_new(fixture->pass.store, RANK_BY_SIZE, &fixture->settings, NULL, NULL);
	for (size_t i = 1; i < G_N_ELEMENTS(ids); i++)
		assert_before(table, ids[i - 1], ids[i]);

	fixture->settings.zeros = ZEROS_KEEP;
	kept = object_table_new(fixture->pass.store, RANK_BY_SIZE, &fixture->settings, NULL, NULL);
	assert_before(kept, ids[4], ids[2]);
	assert_before(kept, ids[1], ids[4]);
}

/* Put so many settled objects that a single new one is few. */
static void put_settled(PassFixture *fixture, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		pass_fixture_put(fixture, i % 7, i % 3 ? 0 : OBJECT_SHARED);
	pass_fixture_settle(fixture);
}

static unsigned settled_facts(uint32_t object)
{
	return FACT_LIVE | FACT_SETTLED | ((object - 1) % 3 ? 0 : FACT_SHARED);
}

static void test_of_many_settled_ones_each_is_known_when_it_is_asked_for(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(ObjectTable) table = NULL;
	uint32_t new;

	put_settled(fixture, 3000);
	g_assert_true(hash_store_drop(fixture->pass.store, 0, 1000 + 5, NULL));
	new = pass_fixture_put(fixture, 8, OBJECT_NO_COW);
	table = pass_fixture_table(fixture);

	object_table_add_fact(table, 8, FACT_NOTED);
	object_table_count(table, 9);
	/* They are not all looked up one by one; known facts stay. */
	for (uint32_t object = 1; object <= 3000; object++)
		g_assert_cmpuint(object_table_facts(table, object), ==,
				 object == 5   ? 0
				 : object == 8 ? settled_facts(object) | FACT_NOTED
					       : settled_facts(object));
	g_assert_cmpuint(object_table_facts(table, new), ==, FACT_LIVE | FACT_NO_COW);
	assert_before(table, 9, 6);
	object_table_remove_fact(table, 8, FACT_LIVE);
	g_assert_false(object_table_is_kept(8, table));
	g_assert_true(object_table_take_error(table, NULL));
}

static void test_looking_up_leaves_alone_what_was_found(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(ObjectTable) table = NULL;
	const Object *found;

	put_settled(fixture, 1000);
	table = pass_fixture_table(fixture);
	g_assert_true(hash_store_find(fixture->pass.store, 7, &found, NULL));
	g_assert_cmpuint(object_table_facts(table, 8), ==, settled_facts(8));
	g_assert_cmpuint(found->id, ==, 7);
	g_assert_cmpmem(found->name, found->name_bytes, "object-7", 8);
}

static void test_what_cannot_be_read_is_a_live_source_and_an_error(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(ObjectTable) table = NULL;
	g_autoptr(GError) error = NULL;

	put_settled(fixture, 1000);
	table = pass_fixture_table(fixture);
	g_assert_true(database_exec(fixture->pass.store->database,
				    "UPDATE object SET record = x'00' WHERE id = 9", NULL));
	g_assert_cmpuint(object_table_facts(table, 8), ==, settled_facts(8));
	g_assert_true(object_table_take_error(table, &error));
	g_assert_cmpuint(object_table_facts(table, 9), ==, FACT_LIVE | FACT_SETTLED);
	g_assert_true(object_table_is_kept(9, table));
	g_assert_false(object_table_take_error(table, &error));
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_CORRUPT);
}

static void make_table_without_room(void *data)
{
	PassFixture *fixture = data;
	g_autoptr(GError) error = NULL;

	scratch_refuse_system_call(SYS_fallocate, ENOSPC);
	g_assert_null(object_table_new(fixture->pass.store, RANK_BY_GAIN, &fixture->settings, NULL,
				       &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC);
	g_assert_nonnull(strstr(error->message, fixture->settings.state_directory));
}

/* It lies in a mapped file, and the process would be killed if one of its pages found no room. */
static void test_a_table_that_finds_no_room_is_an_error(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	put_settled(fixture, 1000);
	scratch_run_in_child(make_table_without_room, fixture);
}

static void test_what_was_moved_is_not_matched_and_kept(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t moved = pass_fixture_put(fixture, 8, 0);
	g_autoptr(ObjectTable) table = pass_fixture_table(fixture);

	object_table_add_fact(table, moved, FACT_MOVED);
	g_assert_false(object_table_is_live(moved, table));
	g_assert_true(object_table_is_kept(moved, table));
	object_table_remove_fact(table, moved, FACT_MOVED);
	g_assert_true(object_table_is_live(moved, table));
}

static void test_a_fact_added_is_one_more(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t one = pass_fixture_put(fixture, 8, OBJECT_NO_COW);
	uint32_t other = pass_fixture_put(fixture, 8, 0);
	g_autoptr(ObjectTable) table = pass_fixture_table(fixture);

	object_table_add_fact(table, one, FACT_NOTED);
	object_table_add_fact(table, one, FACT_OUTSIDE);
	g_assert_cmpuint(object_table_facts(table, one), ==,
			 FACT_LIVE | FACT_NO_COW | FACT_NOTED | FACT_OUTSIDE);
	g_assert_cmpuint(object_table_facts(table, other), ==, FACT_LIVE);
}

static void test_what_cannot_be_a_target_comes_first(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t settled = pass_fixture_put(fixture, 8, 0);
	uint32_t large, shared, immutable, outside;
	g_autoptr(ObjectTable) table = NULL;

	pass_fixture_settle(fixture);
	large = pass_fixture_put(fixture, 8, 0);
	shared = pass_fixture_put(fixture, 8, OBJECT_SHARED);
	immutable = pass_fixture_put(fixture, 8, OBJECT_IMMUTABLE);
	outside = pass_fixture_put(fixture, 8, 0);
	table = pass_fixture_table(fixture);
	object_table_add_fact(table, outside, FACT_OUTSIDE);
	count(table, large, 1000);
	count(table, shared, 1000);

	assert_before(table, settled, large);
	assert_before(table, settled, shared);
	assert_before(table, immutable, large);
	assert_before(table, immutable, shared);
	assert_before(table, outside, large);
	assert_before(table, outside, shared);
}

static void test_by_size_the_largest_comes_first(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	Object extents[] = { { .inode = 1 << 30, .size_bytes = 1 << 12 },
			     { .inode = 1 << 29, .size_bytes = 1 << 13 } };
	uint32_t small = pass_fixture_put_object(fixture, &extents[0]);
	uint32_t large = pass_fixture_put_object(fixture, &extents[1]);
	g_autoptr(ObjectTable) by_gain = pass_fixture_table(fixture);
	g_autoptr(GError) error = NULL;
	g_autoptr(ObjectTable) by_size = object_table_new(fixture->pass.store, RANK_BY_SIZE,
							  &fixture->settings, NULL, &error);

	g_assert_no_error(error);
	count(by_gain, small, 7);
	count(by_size, small, 7);
	assert_before(by_gain, small, large);
	assert_before(by_size, large, small);
}

static uint32_t put_file(PassFixture *fixture, unsigned flags)
{
	return pass_fixture_put_object(fixture, &(Object){
							.subvolume = 256,
							.size_bytes = 100 << 20,
							.state = OBJECT_DONE,
							.flags = flags,
						});
}

static void test_files_and_extents_are_told_apart(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t extent = pass_fixture_put(fixture, 8, 0);
	uint32_t file = put_file(fixture, 0);
	g_autoptr(ObjectTable) files = pass_fixture_table(fixture);
	g_autoptr(ObjectTable) both =
		object_table_new(fixture->pass.store, RANK_BY_SIZE, &fixture->settings, NULL, NULL);

	g_assert_true(object_table_is_extent(extent, both));
	g_assert_false(object_table_is_file(extent, both));
	g_assert_true(object_table_is_file(file, both));
	/* On XFS it is a file. */
	g_assert_true(object_table_is_file(extent, files));
	/* A file gains its common data, whatever its size. */
	assert_before(both, extent, file);
}

static void test_what_the_user_wants_left_alone_is_barred(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t plain = put_file(fixture, 0);
	uint32_t no_cow = put_file(fixture, OBJECT_NO_COW);
	g_autoptr(ObjectTable) shared = pass_fixture_table(fixture);
	g_autoptr(ObjectTable) skipped = NULL;

	g_assert_true(object_table_is_live(no_cow, shared));
	fixture->settings.no_data_cow = NO_COW_SKIP;
	skipped = pass_fixture_table(fixture);
	g_assert_true(object_table_is_live(plain, skipped));
	g_assert_false(object_table_is_live(no_cow, skipped));
	/* Its fingerprints stay. */
	g_assert_true(object_table_is_kept(no_cow, skipped));
}

static uint32_t put_in(PassFixture *fixture, uint64_t subvolume)
{
	return pass_fixture_put_object(fixture, &(Object){
							.subvolume = subvolume,
							.size_bytes = 4096,
							.state = OBJECT_DONE,
						});
}

static void test_files_of_read_only_snapshots_are_what_the_policy_lets_them_be(void)
{
	static const struct btrfs_root_item read_only = { .flags = GUINT64_TO_LE(UINT64_C(1)),
							  .refs = GUINT32_TO_LE(1u) };
	static const struct btrfs_root_item writable = { .refs = GUINT32_TO_LE(1u) };
	static const FakeItem items[] = {
		{ 1, { 256, BTRFS_ROOT_ITEM_KEY, 0 }, &read_only, sizeof(read_only), 1 },
		{ 1, { 257, BTRFS_ROOT_ITEM_KEY, 0 }, &writable, sizeof(writable), 1 },
	};
	static const struct {
		SnapshotPolicy policy;
		unsigned facts;
	} cases[] = {
		{ SNAPSHOTS_AUTO, 0 },
		{ SNAPSHOTS_SHARE, 0 },
		{ SNAPSHOTS_WRITABLE, FACT_READ_ONLY },
		{ SNAPSHOTS_SOURCE, FACT_READ_ONLY },
		{ SNAPSHOTS_SKIP, FACT_READ_ONLY | FACT_BARRED },
	};
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t kept = put_in(fixture, 256);
	uint32_t file = put_in(fixture, 257);
	uint32_t extent = put_in(fixture, OBJECT_EXTENTS);

	g_assert_true(hash_store_commit(fixture->pass.store, NULL));
	*fake_btrfs() = (FakeBtrfs){ .items = items, .n_items = G_N_ELEMENTS(items) };
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(ReadOnlySubvolumes) all = read_only_subvolumes_new(cases[i].policy);
		g_autoptr(ObjectTable) table = NULL;

		g_assert_true(read_only_subvolumes_read(all, FAKE_BTRFS_FD, NULL));
		table = object_table_new(fixture->pass.store, RANK_BY_SIZE, &fixture->settings, all,
					 NULL);
		g_assert_cmpuint(object_table_facts(table, kept), ==, FACT_LIVE | cases[i].facts);
		g_assert_cmpuint(object_table_facts(table, file), ==, FACT_LIVE);
		g_assert_cmpuint(object_table_facts(table, extent), ==, FACT_LIVE | FACT_EXTENT);
	}
}

static void test_what_is_shared_already_comes_before_what_is_not(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t large = pass_fixture_put(fixture, 8, 0);
	uint32_t shared = pass_fixture_put(fixture, 8, OBJECT_SHARED);
	uint32_t fixed = pass_fixture_put(fixture, 8, OBJECT_IMMUTABLE);
	uint32_t shared_and_fixed = pass_fixture_put(fixture, 8, OBJECT_IMMUTABLE | OBJECT_SHARED);
	g_autoptr(ObjectTable) table = pass_fixture_table(fixture);

	count(table, large, 1000);
	assert_before(table, shared, large);
	assert_before(table, shared_and_fixed, fixed);
	assert_before(table, fixed, shared);
}

static void test_what_has_most_in_common_comes_first(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t none = pass_fixture_put(fixture, 8, 0);
	uint32_t little = pass_fixture_put(fixture, 8, 0);
	uint32_t much = pass_fixture_put(fixture, 8, 0);
	g_autoptr(ObjectTable) table = pass_fixture_table(fixture);

	count(table, little, 3);
	count(table, much, 4);
	assert_before(table, much, little);
	assert_before(table, little, none);
}

static void test_like_objects_come_by_id(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t first = pass_fixture_put(fixture, 8, 0);
	uint32_t second = pass_fixture_put(fixture, 8, 0);
	g_autoptr(ObjectTable) table = pass_fixture_table(fixture);

	assert_before(table, first, second);
	g_assert_cmpuint((uint32_t)object_table_rank(table, first), ==, first);
	g_assert_cmpuint((uint32_t)object_table_rank(table, second), ==, second);
}

static void test_what_is_away_is_not_matched_and_stays(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t away = pass_fixture_put(fixture, 8, 0);
	g_autoptr(ObjectTable) table = pass_fixture_table(fixture);

	object_table_add_fact(table, away, FACT_AWAY);
	g_assert_false(object_table_is_live(away, table));
	g_assert_true(object_table_is_kept(away, table));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/object-table/what-is-away-is-not-matched-and-stays",
			test_what_is_away_is_not_matched_and_stays);
	g_test_add_func("/object-table/facts-are-those-of-the-store",
			test_facts_are_those_of_the_store);
	g_test_add_func("/object-table/an-id-that-no-object-has-knows-nothing",
			test_an_id_that_no_object_has_knows_nothing);
	g_test_add_func("/object-table/what-was-settled-is-known-as-such",
			test_what_was_settled_is_known_as_such);
	g_test_add_func("/object-table/a-stretch-and-its-extents-have-one-rank",
			test_a_stretch_and_its_extents_have_one_rank);
	g_test_add_func("/object-table/extents-much-alike-in-length-come-in-the-order-of-their-ids",
			test_extents_much_alike_in_length_come_in_the_order_of_their_ids);
	g_test_add_func("/object-table/zeros-count-against-an-extent-unless-they-are-kept",
			test_zeros_count_against_an_extent_unless_they_are_kept);
	g_test_add_func("/object-table/of-many-settled-ones-each-is-known-when-it-is-asked-for",
			test_of_many_settled_ones_each_is_known_when_it_is_asked_for);
	g_test_add_func("/object-table/looking-up-leaves-alone-what-was-found",
			test_looking_up_leaves_alone_what_was_found);
	g_test_add_func("/object-table/what-cannot-be-read-is-a-live-source-and-an-error",
			test_what_cannot_be_read_is_a_live_source_and_an_error);
	g_test_add_func("/object-table/a-table-that-finds-no-room-is-an-error",
			test_a_table_that_finds_no_room_is_an_error);
	g_test_add_func("/object-table/what-was-moved-is-not-matched-and-kept",
			test_what_was_moved_is_not_matched_and_kept);
	g_test_add_func("/object-table/a-fact-added-is-one-more", test_a_fact_added_is_one_more);
	g_test_add_func("/object-table/what-cannot-be-a-target-comes-first",
			test_what_cannot_be_a_target_comes_first);
	g_test_add_func("/object-table/by-size-the-largest-comes-first",
			test_by_size_the_largest_comes_first);
	g_test_add_func("/object-table/files-and-extents-are-told-apart",
			test_files_and_extents_are_told_apart);
	g_test_add_func("/object-table/what-the-user-wants-left-alone-is-barred",
			test_what_the_user_wants_left_alone_is_barred);
	g_test_add_func("/object-table/files-of-read-only-snapshots",
			test_files_of_read_only_snapshots_are_what_the_policy_lets_them_be);
	g_test_add_func("/object-table/what-is-shared-already-comes-before-what-is-not",
			test_what_is_shared_already_comes_before_what_is_not);
	g_test_add_func("/object-table/what-has-most-in-common-comes-first",
			test_what_has_most_in_common_comes_first);
	g_test_add_func("/object-table/like-objects-come-by-id", test_like_objects_come_by_id);

	g_test_add_func("/object-table/what-snapshots-hold-goes-before-all-others",
			test_what_snapshots_hold_goes_before_all_others);
	g_test_add_func("/object-table/of-what-is-settled-that-comes-last-which-snapshots-hold",
			test_of_what_is_settled_that_comes_last_which_snapshots_hold);
	g_test_add_func("/object-table/a-hot-file-is-a-source-rather-than-one-with-more-in-common",
			test_a_hot_file_is_a_source_rather_than_one_with_more_in_common);

	return g_test_run();
}
