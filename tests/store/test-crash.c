/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/groups.h"
#include "hashstore/objects/objects.h"
#include "tests/store/store-fixture.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANCHORS_PER_OBJECT 40

static void check(bool done, GError **error)
{
	if (!done)
		g_error("%s", (*error)->message);
}

static uint64_t digest_of(uint32_t object, uint32_t block)
{
	return ((uint64_t)object / 2 * ANCHORS_PER_OBJECT + block + 1) *
	       UINT64_C(0x9e3779b97f4a7c15);
}

/* Put an object whose anchors and row follow from its id.  Two consecutive ones are equal. */
static bool put_object(HashStore *store, uint32_t *ret_id, GError **error)
{
	Object object = { .name = (const uint8_t *)"n", .name_bytes = 1 };

	if (!hash_store_new_object(store, ret_id, error))
		return false;
	object.id = *ret_id;
	object.inode = 255 + *ret_id;
	for (uint32_t block = 0; block < ANCHORS_PER_OBJECT; block++) {
		const Anchor anchor = {
			.digest = digest_of(*ret_id, block),
			.object = *ret_id,
			.block = block,
		};

		if (!hash_store_put_anchor(store, &anchor, error))
			return false;
	}

	return hash_store_put(store, &object, error);
}

/* Write until killed; tells the last id after each commit. */
static void write_for_ever(const StoreFixture *fixture, int fd)
{
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	uint32_t id;

	for (int round = 1;; round++) {
		for (int i = 0; i < 50; i++)
			check(put_object(store, &id, &error), &error);
		if (round % 10 == 0)
			check(hash_store_settle(store, store_fixture_all_live, NULL, &error),
			      &error);
		check(hash_store_commit(store, &error), &error);
		if (write(fd, &id, sizeof(id)) != sizeof(id))
			_exit(1);
	}
}

/* Every object that the store has must have all of its anchors, and no other may have any. */
static void check_whole(const StoreFixture *fixture, uint32_t committed)
{
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autoptr(Groups) groups = NULL;
	uint64_t n_objects, n_anchors, n_members = 0;
	uint32_t n_segments, next;
	const Group *group;
	GError *error = NULL;

	check(hash_store_count_objects(store, &n_objects, &error), &error);
	check(hash_store_count_anchors(store, &n_anchors, &n_segments, &error), &error);
	g_assert_cmpuint(n_objects, >=, committed);
	g_assert_cmpuint(n_anchors, ==, n_objects * ANCHORS_PER_OBJECT);
	check(hash_store_unsettle(store, &error), &error);
	groups = groups_open(store, store_fixture_all_live, NULL, &error);
	check(groups, &error);
	for (;;) {
		check(groups_next(groups, &group, &error), &error);
		if (!group)
			break;
		n_members += group->n_members;
	}
	/* The first object has no equal, nor has the last one of an even number. */
	g_assert_cmpuint(n_members, ==,
			 (n_objects - (n_objects > 0) - (n_objects > 0 && n_objects % 2 == 0)) *
				 ANCHORS_PER_OBJECT);
	check(hash_store_new_object(store, &next, &error), &error);
	g_assert_cmpuint(next, >, committed);
	g_assert_cmpuint(next, ==, n_objects + 1);
}

static void test_kill_at_any_time_leaves_a_whole_store_and_rising_ids(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	uint32_t committed = 0;

	for (int round = 0; round < 40; round++) {
		int fds[2];
		pid_t child;

		g_assert_cmpint(pipe(fds), ==, 0);
		child = fork();
		g_assert_cmpint(child, >=, 0);
		if (child == 0) {
			close(fds[0]);
			write_for_ever(fixture, fds[1]);
		}
		close(fds[1]);
		g_usleep((gulong)g_test_rand_int_range(1000, 60000));
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		while (read(fds[0], &committed, sizeof(committed)) == sizeof(committed))
			;
		close(fds[0]);
		check_whole(fixture, committed);
	}
	g_assert_cmpuint(committed, >, 0);
}

/* Put objects until the store is full.  Returns the number that was committed. */
static uint64_t fill(const StoreFixture *fixture)
{
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autoptr(GError) error = NULL;
	uint64_t n_committed = 0;
	uint32_t id;

	check(hash_store_count_objects(store, &n_committed, &error), &error);
	for (;;) {
		for (int i = 0; i < 500; i++) {
			if (!put_object(store, &id, &error))
				break;
		}
		if (error || !hash_store_commit(store, &error))
			break;
		n_committed += 500;
	}
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FULL);
	g_assert_nonnull(strstr(error->message, fixture->path));
	g_clear_error(&error);
	g_assert_false(hash_store_commit(store, &error));

	return n_committed;
}

static void test_full_disk_is_an_error_and_what_was_committed_stays(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	uint64_t n_committed;

	if (geteuid() != 0 ||
	    mount("none", fixture->directory, "tmpfs", 0, "size=4m,mode=0700") < 0) {
		g_test_skip("cannot mount a small tmpfs");
		return;
	}

	for (int round = 0; round < 3; round++) {
		n_committed = fill(fixture);
		g_assert_cmpuint(n_committed, >, 0);
	}
	g_assert_cmpint(mount("none", fixture->directory, "tmpfs", MS_REMOUNT, "size=64m"), ==, 0);
	check_whole(fixture, (uint32_t)n_committed);
	g_assert_cmpint(umount2(fixture->directory, MNT_DETACH), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/crash/kill-at-any-time-leaves-a-whole-store-and-rising-ids",
			test_kill_at_any_time_leaves_a_whole_store_and_rising_ids);
	g_test_add_func("/crash/full-disk-is-an-error-and-what-was-committed-stays",
			test_full_disk_is_an_error_and_what_was_committed_stays);

	return g_test_run();
}
