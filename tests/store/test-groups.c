/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchor-sort.h"
#include "hashstore/anchors/groups.h"
#include "tests/store/store-fixture.h"

#include <string.h>

/* The expected contents of a store. */
typedef struct {
	HashStore *store;
	GArray *anchors; /* of Anchor */
	GHashTable *dead;
	uint32_t settled_below;
} Oracle;

static bool is_live(uint32_t object, void *data)
{
	const Oracle *oracle = data;

	return !g_hash_table_contains(oracle->dead, GUINT_TO_POINTER(object));
}

static Oracle *oracle_new(const StoreFixture *fixture)
{
	Oracle *oracle = g_new0(Oracle, 1);

	oracle->store = store_fixture_open(fixture);
	oracle->anchors = g_array_new(false, false, sizeof(Anchor));
	oracle->dead = g_hash_table_new(NULL, NULL);
	oracle->settled_below = 1;

	return oracle;
}

static void oracle_free(Oracle *oracle)
{
	hash_store_close(oracle->store);
	g_array_unref(oracle->anchors);
	g_hash_table_unref(oracle->dead);
	g_free(oracle);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Oracle, oracle_free)

static uint32_t new_object(Oracle *oracle)
{
	GError *error = NULL;
	uint32_t id;

	g_assert_true(hash_store_new_object(oracle->store, &id, &error));
	g_assert_no_error(error);

	return id;
}

static void put(Oracle *oracle, uint64_t digest, uint32_t object, uint32_t block)
{
	Anchor anchor = { .digest = digest, .object = object, .block = block };
	GError *error = NULL;

	g_assert_true(hash_store_put_anchor(oracle->store, &anchor, &error));
	g_assert_no_error(error);
	anchor.digest = anchor_digest(digest);
	g_array_append_val(oracle->anchors, anchor);
}

static void commit(Oracle *oracle)
{
	GError *error = NULL;

	g_assert_true(hash_store_commit(oracle->store, &error));
	g_assert_no_error(error);
}

static void settle(Oracle *oracle)
{
	GError *error = NULL;

	g_assert_true(hash_store_settle(oracle->store, is_live, oracle, &error));
	g_assert_no_error(error);
	commit(oracle);
	oracle->settled_below = hash_store_settled_below(oracle->store);
}

static int compare(gconstpointer a, gconstpointer b)
{
	return anchor_compare(a, b);
}

static bool is_unsettled(const Oracle *oracle, const Anchor *anchor)
{
	return anchor->object >= oracle->settled_below;
}

/* The live members of the digest at @begin, sorted, each once.  Returns their end. */
static guint members_at(const Oracle *oracle, guint begin, GArray *ret)
{
	const Anchor *all = (const Anchor *)(void *)oracle->anchors->data;
	uint64_t digest = all[begin].digest;
	guint end = begin;

	g_array_set_size(ret, 0);
	for (; end < oracle->anchors->len && all[end].digest == digest; end++) {
		if (end > begin && anchor_compare(&all[end], &all[end - 1]) == 0)
			continue;
		if (digest == ANCHOR_ZEROS_DIGEST && !is_unsettled(oracle, &all[end]))
			continue;
		if (is_live(all[end].object, (void *)oracle))
			g_array_append_val(ret, all[end]);
	}

	return end;
}

static bool is_group(const Oracle *oracle, const GArray *members)
{
	bool any_unsettled = false;

	for (guint i = 0; i < members->len; i++)
		any_unsettled |= is_unsettled(oracle, &g_array_index(members, Anchor, i));
	if (!any_unsettled)
		return false;

	return members->len > 1 || g_array_index(members, Anchor, 0).digest == ANCHOR_ZEROS_DIGEST;
}

/* The groups of the store, none of which is cut, must equal those of a sort of everything. */
static uint64_t check_walk(Oracle *oracle, Groups *groups)
{
	g_autoptr(GArray) members = g_array_new(false, false, sizeof(Anchor));
	const Group *group;
	GError *error = NULL;
	uint64_t n = 0;

	g_array_sort(oracle->anchors, compare);
	for (guint i = 0; i < oracle->anchors->len;) {
		i = members_at(oracle, i, members);
		if (!is_group(oracle, members))
			continue;
		g_assert_true(groups_next(groups, &group, &error));
		g_assert_no_error(error);
		g_assert_nonnull(group);
		g_assert_cmpuint(group->n_capped, ==, 0);
		g_assert_cmpmem(group->members, group->n_members * sizeof(Anchor), members->data,
				members->len * sizeof(Anchor));
		n++;
	}
	g_assert_true(groups_next(groups, &group, &error));
	g_assert_null(group);
	/* The end stays the end. */
	g_assert_true(groups_next(groups, &group, &error));
	g_assert_null(group);

	return n;
}

static uint64_t check_groups(Oracle *oracle)
{
	GError *error = NULL;
	g_autoptr(Groups) groups = groups_open(oracle->store, is_live, oracle, &error);
	uint64_t n;

	g_assert_no_error(error);
	n = check_walk(oracle, groups);
	g_assert_true(groups_rewind(groups, &error));
	g_assert_cmpuint(check_walk(oracle, groups), ==, n);

	return n;
}

/* Put @n anchors, many of them equal; @range bounds the digests. */
static void put_random(Oracle *oracle, unsigned n, uint64_t range)
{
	uint32_t object = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t digest = (uint64_t)g_test_rand_int_range(0, INT32_MAX) * range / INT32_MAX;
		uint32_t block = (uint32_t)g_test_rand_int_range(0, 1 << 20);

		if (object == 0 || g_test_rand_int_range(0, 50) == 0)
			object = new_object(oracle);
		if (g_test_rand_int_range(0, 100) == 0)
			block = ANCHOR_WHOLE_BLOCK;
		put(oracle, digest * UINT64_C(0x123456789abcd), object, block);
	}
}

static void kill_some(Oracle *oracle, uint32_t below, int one_in)
{
	for (uint32_t object = 1; object < below; object++) {
		if (g_test_rand_int_range(0, one_in) == 0)
			g_hash_table_add(oracle->dead, GUINT_TO_POINTER(object));
	}
}

static uint32_t count_segments(Oracle *oracle, uint64_t *ret_anchors)
{
	GError *error = NULL;
	uint32_t n_segments;

	g_assert_true(hash_store_count_anchors(oracle->store, ret_anchors, &n_segments, &error));

	return n_segments;
}

static void test_empty_store_has_no_groups(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);

	g_assert_cmpuint(check_groups(oracle), ==, 0);
}

static void test_first_pass_gives_the_groups_of_a_sort(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);

	/* Six times the memory limit. */
	put_random(oracle, 400000, 300000);
	commit(oracle);
	g_assert_cmpuint(check_groups(oracle), >, 10000);
	kill_some(oracle, 8000, 3);
	g_assert_cmpuint(check_groups(oracle), >, 10000);
	settle(oracle);
	g_assert_cmpuint(check_groups(oracle), ==, 0);
}

/* Run passes with few and many new anchors, so that both ways of matching are taken. */
static void check_passes(const int *sizes, size_t n_sizes, uint64_t range)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);
	uint64_t n_anchors;

	for (size_t i = 0; i < n_sizes; i++) {
		put_random(oracle, (unsigned)sizes[i], range);
		commit(oracle);
		check_groups(oracle);
		kill_some(oracle, hash_store_next_object(oracle->store), 20);
		check_groups(oracle);
		settle(oracle);
		g_assert_cmpuint(count_segments(oracle, &n_anchors), <=, 16);
		g_assert_cmpuint(check_groups(oracle), ==, 0);
	}

	/* Match everything once more. */
	g_assert_true(hash_store_unsettle(oracle->store, NULL));
	commit(oracle);
	oracle->settled_below = 1;
	g_assert_cmpuint(check_groups(oracle), >, 0);
}

static void test_later_passes_give_the_groups_of_a_sort(void)
{
	static const int sizes[] = { 200000, 100, 3000, 1, 30, 30000, 500, 80000, 1000, 1000 };

	check_passes(sizes, G_N_ELEMENTS(sizes), 200000);
}

static void test_later_passes_give_the_groups_of_a_sort_when_digests_are_few(void)
{
	static const int sizes[] = { 60000, 100, 3000, 10, 300, 30000, 500 };

	check_passes(sizes, G_N_ELEMENTS(sizes), 40);
}

static void test_new_anchors_are_found_among_settled_ones(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);
	uint32_t object = new_object(oracle);

	for (uint32_t i = 0; i < 200000; i++)
		put(oracle, (i + 1) * UINT64_C(90000000000000), object, i);
	commit(oracle);
	settle(oracle);
	object = new_object(oracle);
	for (uint32_t i = 0; i < 200000; i += 1000)
		put(oracle, (i + 1) * UINT64_C(90000000000000), object, i);
	put(oracle, 1, object, 7);
	put(oracle, UINT64_MAX, object, 8);
	commit(oracle);
	g_assert_cmpuint(check_groups(oracle), ==, 200);
	/* Also at rest, as a pass after an interrupted one finds them. */
	g_clear_pointer(&oracle->store, hash_store_close);
	oracle->store = store_fixture_open(fixture);
	g_assert_cmpuint(check_groups(oracle), ==, 200);
}

/* Count one more byte read at each call. */
static uint64_t count_a_byte(void)
{
	static _Thread_local uint64_t bytes;

	return ++bytes;
}

static void test_what_threads_read_is_counted(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = NULL;
	uint32_t object;

	fixture->options.count_reads = count_a_byte;
	oracle = oracle_new(fixture);
	object = new_object(oracle);
	for (uint32_t i = 0; i < 100000; i++)
		put(oracle, (i + 1) * UINT64_C(90000000000000), object, i);
	commit(oracle);
	settle(oracle);
	object = new_object(oracle);
	for (uint32_t i = 0; i < 40; i++)
		put(oracle, (i + 1) * UINT64_C(90000000000000), object, i);
	commit(oracle);
	g_assert_cmpuint(hash_store_thread_read_bytes(oracle->store), ==, 0);

	g_assert_cmpuint(check_groups(oracle), ==, 40);
	/* Two threads look up half of 40 digests each; the walk was made twice. */
	g_assert_cmpuint(hash_store_thread_read_bytes(oracle->store), ==, 2 * 2);
}

static void test_zeros_give_unsettled_members_in_as_many_groups_as_they_need(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);
	GError *error = NULL;

	for (int pass = 0; pass < 2; pass++) {
		uint32_t object = new_object(oracle);
		uint32_t n = GROUP_MEMBERS_MAX * 2 + 5, seen = 0;
		g_autoptr(Groups) groups = NULL;
		const Group *group;

		for (uint32_t i = 0; i < n; i++)
			put(oracle, ANCHOR_ZEROS_DIGEST, object, i);
		commit(oracle);
		groups = groups_open(oracle->store, is_live, oracle, &error);
		for (;;) {
			g_assert_true(groups_next(groups, &group, &error));
			if (!group)
				break;
			g_assert_cmpuint(group->n_capped, ==, 0);
			for (size_t i = 0; i < group->n_members; i++) {
				g_assert_cmpuint(group->members[i].digest, ==, ANCHOR_ZEROS_DIGEST);
				g_assert_cmpuint(group->members[i].object, ==, object);
				g_assert_cmpuint(group->members[i].block, ==, seen++);
			}
		}
		g_assert_cmpuint(seen, ==, n);
		settle(oracle);
	}
}

static void test_single_run_of_zeros_is_a_group(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);

	put(oracle, ANCHOR_ZEROS_DIGEST, new_object(oracle), 3);
	commit(oracle);
	g_assert_cmpuint(check_groups(oracle), ==, 1);
	settle(oracle);
	g_assert_cmpuint(check_groups(oracle), ==, 0);
}

/* The only group must have these members of the digest 5; blocks count from 0 in each object. */
static void check_cut(Oracle *oracle, size_t n_settled, size_t n_members, uint64_t n_capped)
{
	GError *error = NULL;
	g_autoptr(Groups) groups = groups_open(oracle->store, is_live, oracle, &error);
	const Group *group;

	g_assert_true(groups_next(groups, &group, &error));
	g_assert_nonnull(group);
	g_assert_cmpuint(group->n_members, ==, n_members);
	g_assert_cmpuint(group->n_capped, ==, n_capped);
	for (size_t i = 0; i < n_members; i++) {
		const Anchor *member = &group->members[i];

		g_assert_cmpuint(member->digest, ==, 5);
		g_assert_cmpint(is_unsettled(oracle, member), ==, i >= n_settled);
		g_assert_cmpuint(member->block, ==, i < n_settled ? i : i - n_settled);
	}
	g_assert_true(groups_next(groups, &group, &error));
	g_assert_null(group);
}

static void put_equal(Oracle *oracle, uint32_t n)
{
	uint32_t object = new_object(oracle);

	for (uint32_t i = 0; i < n; i++)
		put(oracle, 5, object, i);
	commit(oracle);
}

static void test_large_group_is_cut(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);

	put_equal(oracle, GROUP_MEMBERS_MAX + 300000);
	check_cut(oracle, 0, GROUP_MEMBERS_MAX, 300000);
	settle(oracle);
	/* Settled members are left out first, in both ways. */
	put_equal(oracle, 10);
	check_cut(oracle, 1, 11, 0);
	put_equal(oracle, 0);
	settle(oracle);
	put_equal(oracle, GROUP_MEMBERS_MAX);
	check_cut(oracle, 1, GROUP_MEMBERS_MAX, 1);
}

static void test_group_of_the_largest_size_is_whole(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);

	put_equal(oracle, GROUP_MEMBERS_MAX - 10);
	settle(oracle);
	put_equal(oracle, 10);
	check_cut(oracle, GROUP_MEMBERS_MAX - 10, GROUP_MEMBERS_MAX, 0);
	settle(oracle);
	put_equal(oracle, 11);
	check_cut(oracle, 1, 12, 0);
}

static void test_many_commits_leave_few_segments(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);
	uint64_t n_anchors;

	for (int i = 0; i < 300; i++) {
		put_random(oracle, 100, 20000);
		commit(oracle);
		g_assert_cmpuint(count_segments(oracle, &n_anchors), <=, 64);
	}
	g_assert_cmpuint(check_groups(oracle), >, 0);
	settle(oracle);
	g_assert_cmpuint(count_segments(oracle, &n_anchors), <=, 16);
	for (int i = 0; i < 100; i++) {
		put_random(oracle, 1u << (i % 12), 20000);
		settle(oracle);
		g_assert_cmpuint(count_segments(oracle, &n_anchors), <=, 16);
	}
	g_assert_true(hash_store_unsettle(oracle->store, NULL));
	commit(oracle);
	oracle->settled_below = 1;
	g_assert_cmpuint(check_groups(oracle), >, 0);
}

static void test_segments_of_earlier_passes_wait_until_there_are_too_many(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);
	uint64_t n_anchors;

	put_random(oracle, 20000, INT32_MAX);
	settle(oracle);
	for (uint32_t n = 2; n <= 16; n++) {
		put_random(oracle, 100, INT32_MAX);
		settle(oracle);
		g_assert_cmpuint(count_segments(oracle, &n_anchors), ==, n);
	}
	/* The small ones become one; the large one stays as it is. */
	put_random(oracle, 100, INT32_MAX);
	settle(oracle);
	g_assert_cmpuint(count_segments(oracle, &n_anchors), ==, 2);
}

static void test_segments_of_one_pass_become_one(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);
	uint64_t n_anchors;

	put_random(oracle, 10000, INT32_MAX);
	commit(oracle);
	put_random(oracle, 3000, INT32_MAX);
	settle(oracle);
	g_assert_cmpuint(count_segments(oracle, &n_anchors), ==, 1);
}

static void test_entries_of_dead_objects_fall_out(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);
	uint64_t n_anchors, bytes;
	GError *error = NULL;

	put_random(oracle, 300000, INT32_MAX);
	settle(oracle);
	count_segments(oracle, &n_anchors);
	g_assert_cmpuint(n_anchors, >, 290000);
	bytes = hash_store_file_bytes(oracle->store);

	/* All but a few die, and nothing new comes: a drop is what begins the transaction. */
	kill_some(oracle, hash_store_next_object(oracle->store), 1);
	g_hash_table_remove(oracle->dead, GUINT_TO_POINTER(1));
	g_assert_true(hash_store_set_note(oracle->store, "changed", "yes", &error));
	settle(oracle);
	count_segments(oracle, &n_anchors);
	g_assert_cmpuint(n_anchors, <, 3000);
	g_clear_pointer(&oracle->store, hash_store_close);
	oracle->store = store_fixture_open(fixture);
	g_assert_cmpuint(hash_store_file_bytes(oracle->store), <, bytes / 2);
}

static void test_passes_without_growth_leave_the_file_bounded(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);
	uint32_t old = 1;

	for (int pass = 0; pass < 20; pass++) {
		uint32_t next = hash_store_next_object(oracle->store);

		put_random(oracle, 50000, INT32_MAX);
		settle(oracle);
		for (; old < next; old++)
			g_hash_table_add(oracle->dead, GUINT_TO_POINTER(old));
	}
	g_clear_pointer(&oracle->store, hash_store_close);
	oracle->store = store_fixture_open(fixture);
	/* Two generations, at 11 bytes, three times over. */
	g_assert_cmpuint(hash_store_file_bytes(oracle->store), <, 3 * 2 * 50000 * 11);
}

static void test_damaged_page_is_an_error_and_not_a_crash(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Oracle) oracle = oracle_new(fixture);
	g_autoptr(Groups) groups = NULL;
	g_autoptr(GError) error = NULL;
	const Group *group;

	put_random(oracle, 50000, 1000);
	commit(oracle);
	g_clear_pointer(&oracle->store, hash_store_close);
	store_fixture_sql(fixture->path, "UPDATE page SET entries = substr(entries, 1, 2000)"
					 " || x'ff' || substr(entries, 2002) WHERE id = 3");
	oracle->store = store_fixture_open(fixture);
	groups = groups_open(oracle->store, is_live, oracle, &error);
	do {
		if (!groups_next(groups, &group, &error))
			break;
	} while (group);
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_CORRUPT);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/groups/empty-store-has-no-groups", test_empty_store_has_no_groups);
	g_test_add_func("/groups/first-pass-gives-the-groups-of-a-sort",
			test_first_pass_gives_the_groups_of_a_sort);
	g_test_add_func("/groups/later-passes-give-the-groups-of-a-sort",
			test_later_passes_give_the_groups_of_a_sort);
	g_test_add_func("/groups/later-passes-give-the-groups-of-a-sort-when-digests-are-few",
			test_later_passes_give_the_groups_of_a_sort_when_digests_are_few);
	g_test_add_func("/groups/new-anchors-are-found-among-settled-ones",
			test_new_anchors_are_found_among_settled_ones);
	g_test_add_func("/groups/what-threads-read-is-counted", test_what_threads_read_is_counted);
	g_test_add_func("/groups/zeros-give-unsettled-members-in-as-many-groups-as-they-need",
			test_zeros_give_unsettled_members_in_as_many_groups_as_they_need);
	g_test_add_func("/groups/single-run-of-zeros-is-a-group",
			test_single_run_of_zeros_is_a_group);
	g_test_add_func("/groups/large-group-is-cut", test_large_group_is_cut);
	g_test_add_func("/groups/group-of-the-largest-size-is-whole",
			test_group_of_the_largest_size_is_whole);
	g_test_add_func("/groups/many-commits-leave-few-segments",
			test_many_commits_leave_few_segments);
	g_test_add_func("/groups/segments-of-earlier-passes-wait-until-there-are-too-many",
			test_segments_of_earlier_passes_wait_until_there_are_too_many);
	g_test_add_func("/groups/segments-of-one-pass-become-one",
			test_segments_of_one_pass_become_one);
	g_test_add_func("/groups/entries-of-dead-objects-fall-out",
			test_entries_of_dead_objects_fall_out);
	g_test_add_func("/groups/passes-without-growth-leave-the-file-bounded",
			test_passes_without_growth_leave_the_file_bounded);
	g_test_add_func("/groups/damaged-page-is-an-error-and-not-a-crash",
			test_damaged_page_is_an_error_and_not_a_crash);

	return g_test_run();
}
