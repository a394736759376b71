/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/groups.h"
#include "hashstore/objects/objects.h"
#include "tests/store/store-fixture.h"

#include <sys/stat.h>

/* A store whose is_live callback asks it to stop, after some objects. */
typedef struct {
	StoreFixture *fixture;
	HashStore *store;
	atomic_bool stop;
	unsigned questions_left;
} Stopped;

static void check(bool done, GError **error)
{
	if (!done)
		g_error("%s", (*error)->message);
}

static Stopped *stopped_new(void)
{
	Stopped *stopped = g_new0(Stopped, 1);

	stopped->fixture = store_fixture_new();
	stopped->fixture->options.stop = &stopped->stop;
	stopped->store = store_fixture_open(stopped->fixture);

	return stopped;
}

static void stopped_free(Stopped *stopped)
{
	hash_store_close(stopped->store);
	store_fixture_free(stopped->fixture);
	g_free(stopped);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Stopped, stopped_free)

static bool is_live_until_stop(uint32_t object, void *data)
{
	Stopped *stopped = data;

	if (stopped->questions_left == 0)
		atomic_store(&stopped->stop, true);
	else
		stopped->questions_left--;

	return true;
}

/* Put one object of @n anchors; those of all objects have the same digests. */
static void put_object(Stopped *stopped, uint32_t n)
{
	Object object = { .name = (const uint8_t *)"name", .name_bytes = 4 };
	GError *error = NULL;

	check(hash_store_new_object(stopped->store, &object.id, &error), &error);
	object.inode = 255 + object.id;
	check(hash_store_put(stopped->store, &object, &error), &error);
	for (uint32_t i = 0; i < n; i++) {
		const Anchor anchor = {
			.digest = (i + 1) * UINT64_C(0x9e3779b97f4a7c15),
			.object = object.id,
			.block = i,
		};

		check(hash_store_put_anchor(stopped->store, &anchor, &error), &error);
	}
}

static void commit(Stopped *stopped)
{
	GError *error = NULL;

	check(hash_store_commit(stopped->store, &error), &error);
}

static void reopen(Stopped *stopped)
{
	g_clear_pointer(&stopped->store, hash_store_close);
	stopped->store = store_fixture_open(stopped->fixture);
}

static void check_segments(Stopped *stopped, uint64_t n_anchors, uint32_t n_segments)
{
	GError *error = NULL;
	uint64_t anchors;
	uint32_t segments;

	check(hash_store_count_anchors(stopped->store, &anchors, &segments, &error), &error);
	g_assert_cmpuint(anchors, ==, n_anchors);
	g_assert_cmpuint(segments, ==, n_segments);
}

/* Count groups up to the end of a walk that is asked to stop after @questions. */
static uint32_t count_groups(Stopped *stopped, unsigned questions, size_t n_members)
{
	GError *error = NULL;
	g_autoptr(Groups) groups = NULL;
	const Group *group;
	uint32_t n = 0;

	atomic_store(&stopped->stop, false);
	stopped->questions_left = questions;
	groups = groups_open(stopped->store, is_live_until_stop, stopped, &error);
	check(groups, &error);
	for (;; n++) {
		check(groups_next(groups, &group, &error), &error);
		if (!group)
			break;
		g_assert_cmpuint(group->n_members, ==, n_members);
	}
	/* The end stays the end. */
	check(groups_next(groups, &group, &error), &error);
	g_assert_null(group);

	return n;
}

static void test_settle_that_is_stopped_leaves_the_segments_as_they_were(void)
{
	static const unsigned questions[] = { 0, 5, 100, 50000, 123456, 199999 };
	g_autoptr(Stopped) stopped = stopped_new();
	GError *error = NULL;

	for (int i = 0; i < 4; i++) {
		put_object(stopped, 50000);
		commit(stopped);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(questions); i++) {
		uint64_t n_objects;

		/* Put something that is not committed; it stays. */
		atomic_store(&stopped->stop, false);
		put_object(stopped, 0);
		stopped->questions_left = questions[i];
		check(hash_store_settle(stopped->store, is_live_until_stop, stopped, &error),
		      &error);
		g_assert_true(atomic_load(&stopped->stop));
		g_assert_cmpuint(hash_store_settled_below(stopped->store), ==, 1);
		commit(stopped);
		check_segments(stopped, 200000, 4);
		reopen(stopped);
		check_segments(stopped, 200000, 4);
		check(hash_store_count_objects(stopped->store, &n_objects, &error), &error);
		g_assert_cmpuint(n_objects, ==, 5 + i);
	}
	g_assert_cmpuint(count_groups(stopped, UINT_MAX, 4), ==, 50000);

	check(hash_store_settle(stopped->store, store_fixture_all_live, NULL, &error), &error);
	commit(stopped);
	check_segments(stopped, 200000, 1);
	g_assert_cmpuint(hash_store_settled_below(stopped->store), ==,
			 hash_store_next_object(stopped->store));
}

static void test_commit_that_is_stopped_keeps_all_and_merges_later(void)
{
	g_autoptr(Stopped) stopped = stopped_new();

	atomic_store(&stopped->stop, true);
	for (int i = 0; i < 80; i++) {
		put_object(stopped, 100);
		commit(stopped);
	}
	check_segments(stopped, 8000, 80);
	g_assert_cmpuint(count_groups(stopped, UINT_MAX, 80), ==, 100);

	/* Eight segments are merged at a time, as memory allows, until eight or fewer are left. */
	put_object(stopped, 100);
	commit(stopped);
	check_segments(stopped, 8100, 5);
	reopen(stopped);
	g_assert_cmpuint(count_groups(stopped, UINT_MAX, 81), ==, 100);
}

static gpointer raise_soon(gpointer data)
{
	g_usleep((gulong)g_random_int_range(0, 30000));
	atomic_store((atomic_bool *)data, true);

	return NULL;
}

static void test_merge_that_is_stopped_anywhere_leaves_the_segments_as_they_were(void)
{
	g_autoptr(Stopped) stopped = stopped_new();

	atomic_store(&stopped->stop, true);
	for (int i = 0; i < 9; i++) {
		put_object(stopped, 20000);
		commit(stopped);
	}
	for (uint32_t round = 1; round <= 10; round++) {
		GError *error = NULL;
		uint32_t n_segments;
		GThread *thread;
		uint64_t n;

		atomic_store(&stopped->stop, false);
		thread = g_thread_new("stop", raise_soon, &stopped->stop);
		put_object(stopped, 0);
		commit(stopped);
		g_thread_join(thread);
		check(hash_store_count_anchors(stopped->store, &n, &n_segments, &error), &error);
		g_assert_cmpuint(n, ==, 180000);
		g_assert_cmpuint(n_segments, <=, 9);
		if (round % 3 == 0)
			reopen(stopped);
	}
	g_assert_cmpuint(count_groups(stopped, UINT_MAX, 9), ==, 20000);
}

static void test_walk_over_groups_ends_soon_when_stopped(void)
{
	g_autoptr(Stopped) stopped = stopped_new();
	GError *error = NULL;

	for (int i = 0; i < 3; i++) {
		put_object(stopped, 50000);
		commit(stopped);
	}
	g_assert_cmpuint(count_groups(stopped, UINT_MAX, 3), ==, 50000);
	g_assert_cmpuint(count_groups(stopped, 3000, 3), ==, 1000);
	g_assert_cmpuint(count_groups(stopped, 0, 3), ==, 0);

	/* The same with new anchors that are looked up. */
	atomic_store(&stopped->stop, false);
	check(hash_store_settle(stopped->store, store_fixture_all_live, NULL, &error), &error);
	put_object(stopped, 1000);
	commit(stopped);
	g_assert_cmpuint(count_groups(stopped, UINT_MAX, 4), ==, 1000);
	g_assert_cmpuint(count_groups(stopped, 400, 4), ==, 100);
	g_assert_cmpuint(count_groups(stopped, 0, 4), ==, 0);
}

static uint64_t wal_bytes(const Stopped *stopped)
{
	g_autofree char *wal = g_strconcat(stopped->fixture->path, "-wal", NULL);
	struct stat st;

	g_assert_cmpint(stat(wal, &st), ==, 0);

	return (uint64_t)st.st_size;
}

/* Settle so much new data, in one part, that a commit copies the WAL into the file. */
static void put_much(Stopped *stopped)
{
	GError *error = NULL;

	stopped->fixture->options.memory_bytes = 8 << 20;
	reopen(stopped);
	for (int i = 0; i < 30; i++)
		put_object(stopped, 60000);
	check(hash_store_settle(stopped->store, store_fixture_all_live, NULL, &error), &error);
}

static void test_stop_leaves_a_large_wal_to_the_next_pass(void)
{
	g_autoptr(Stopped) stopped = stopped_new();

	put_much(stopped);
	atomic_store(&stopped->stop, true);
	commit(stopped);
	g_assert_cmpuint(wal_bytes(stopped), >, 16 << 20);
	reopen(stopped);
	g_assert_cmpuint(wal_bytes(stopped), >, 16 << 20);
	check_segments(stopped, 30 * 60000, 1);

	/* A pass that copies it into the file changes nothing else. */
	atomic_store(&stopped->stop, false);
	reopen(stopped);
	g_assert_cmpuint(wal_bytes(stopped), ==, 0);
	check_segments(stopped, 30 * 60000, 1);
}

static void test_checkpoint_that_is_stopped_anywhere_loses_nothing(void)
{
	g_autoptr(Stopped) stopped = stopped_new();

	for (uint64_t round = 1; round <= 3; round++) {
		GThread *thread;
		GError *error = NULL;
		uint32_t n_segments;
		uint64_t n;

		put_much(stopped);
		thread = g_thread_new("stop", raise_soon, &stopped->stop);
		commit(stopped);
		g_thread_join(thread);
		reopen(stopped);
		check(hash_store_count_anchors(stopped->store, &n, &n_segments, &error), &error);
		g_assert_cmpuint(n, ==, round * 30 * 60000);
		atomic_store(&stopped->stop, false);
	}
}

/* Raise the flag at the last of this many looks. */
static void pay(void *data)
{
	is_live_until_stop(0, data);
}

static void ignore(void *data)
{
}

static void test_renewal_that_is_stopped_anywhere_is_as_if_it_had_not_begun(void)
{
	static const uint32_t old[] = { 1, 3 };
	HashStorePayer payer = { ignore, ignore, pay, NULL };
	unsigned n_stopped = 0;

	for (unsigned looks = 0; looks < 12; looks++) {
		g_autoptr(Stopped) stopped = stopped_new();
		const Object *found;
		GError *error = NULL;
		bool is_stopped;

		for (int i = 0; i < 4; i++)
			put_object(stopped, 50000);
		check(hash_store_settle(stopped->store, store_fixture_all_live, NULL, &error),
		      &error);
		commit(stopped);

		/* In addition to the pass's other changes. */
		payer.data = stopped;
		stopped->questions_left = UINT_MAX;
		stopped->fixture->options.payer = &payer;
		reopen(stopped);
		check(hash_store_set_note(stopped->store, "changed", "too", &error), &error);
		stopped->questions_left = looks;
		check(hash_store_renew(stopped->store, old, G_N_ELEMENTS(old), &error), &error);
		is_stopped = atomic_load(&stopped->stop);
		n_stopped += is_stopped;
		commit(stopped);

		atomic_store(&stopped->stop, false);
		stopped->questions_left = UINT_MAX;
		reopen(stopped);
		for (size_t i = 0; i < G_N_ELEMENTS(old); i++) {
			check(hash_store_find(stopped->store, old[i], &found, &error), &error);
			g_assert_true(is_stopped == (found != NULL));
		}
		g_assert_cmpuint(hash_store_next_object(stopped->store), ==, is_stopped ? 5 : 7);
		check_segments(stopped, is_stopped ? 200000 : 300000, is_stopped ? 1 : 2);
	}
	g_assert_cmpuint(n_stopped, >, 2);
}

static void test_who_stops_does_not_wait_for_the_wal(void)
{
	g_autoptr(Stopped) stopped = stopped_new();

	put_object(stopped, 1000);
	commit(stopped);
	g_assert_cmpuint(wal_bytes(stopped), >, 0);
	atomic_store(&stopped->stop, true);
	reopen(stopped);
	g_assert_cmpuint(wal_bytes(stopped), >, 0);
	check_segments(stopped, 1000, 1);

	atomic_store(&stopped->stop, false);
	reopen(stopped);
	g_assert_cmpuint(wal_bytes(stopped), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/stop/settle-that-is-stopped-leaves-the-segments-as-they-were",
			test_settle_that_is_stopped_leaves_the_segments_as_they_were);
	g_test_add_func("/stop/commit-that-is-stopped-keeps-all-and-merges-later",
			test_commit_that_is_stopped_keeps_all_and_merges_later);
	g_test_add_func("/stop/merge-that-is-stopped-anywhere-leaves-the-segments-as-they-were",
			test_merge_that_is_stopped_anywhere_leaves_the_segments_as_they_were);
	g_test_add_func("/stop/walk-over-groups-ends-soon-when-stopped",
			test_walk_over_groups_ends_soon_when_stopped);
	g_test_add_func("/stop/stop-leaves-a-large-wal-to-the-next-pass",
			test_stop_leaves_a_large_wal_to_the_next_pass);
	g_test_add_func("/stop/renewal-that-is-stopped-anywhere-is-as-if-it-had-not-begun",
			test_renewal_that_is_stopped_anywhere_is_as_if_it_had_not_begun);
	g_test_add_func("/stop/who-stops-does-not-wait-for-the-wal",
			test_who_stops_does_not_wait_for_the_wal);
	g_test_add_func("/stop/checkpoint-that-is-stopped-anywhere-loses-nothing",
			test_checkpoint_that_is_stopped_anywhere_loses_nothing);

	return g_test_run();
}
