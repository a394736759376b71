/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/snapshot-rotation.h"

#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#define DAY      (INT64_C(86400) * G_USEC_PER_SEC)
#define WRITABLE UINT64_C(256)

typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
} Scene;

static void set_up(Scene *scene, const void *data)
{
	scene->fixture = pass_fixture_new();
	scene->files = fake_files_new();
	pass_fixture_pose_as_btrfs(scene->fixture, FAKE_BTRFS_FD);
}

static void tear_down(Scene *scene, const void *data)
{
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

/* What a pass on this day finds, if there are these read-only snapshots. */
static bool look(Scene *scene, int day, uint64_t first, uint64_t end)
{
	Pass *pass = &scene->fixture->pass;
	g_autoptr(GError) error = NULL;

	fake_files_free(scene->files);
	scene->files = fake_files_new();
	fake_files_add_subvolume(scene->files, WRITABLE, false);
	for (uint64_t id = first; id < end; id++)
		fake_files_add_subvolume(scene->files, id, true);
	/* Writable ones do not count, however new. */
	fake_files_add_subvolume(scene->files, 2 * end, false);
	fake_files_use(scene->files);
	scene->fixture->result.started_usec = day * DAY;
	g_assert_true(snapshot_rotation_look(pass, &error));
	g_assert_no_error(error);
	return pass->btrfs.snapshots_rotate;
}

static void test_snapshots_rotate_if_one_was_deleted_lately(Scene *scene, const void *data)
{
	g_assert_false(look(scene, 100, 300, 300));
	g_assert_false(look(scene, 100, 300, 305));
	g_assert_false(look(scene, 101, 300, 310));
	/* One is gone, and another one new. */
	g_assert_true(look(scene, 102, 301, 311));
	g_assert_true(look(scene, 150, 301, 311));
	g_assert_true(look(scene, 162, 301, 312));
	g_assert_false(look(scene, 163, 301, 312));
	g_assert_true(look(scene, 164, 302, 312));
	/* The clock was wrong then, or is wrong now. */
	g_assert_false(look(scene, 163, 302, 312));
}

/* Ids are never used again, so the newest one is known although it is gone. */
static void test_the_newest_snapshot_counts(Scene *scene, const void *data)
{
	g_assert_false(look(scene, 100, 300, 302));
	g_assert_true(look(scene, 101, 300, 301));
}

static void test_a_dry_run_notes_nothing(Scene *scene, const void *data)
{
	scene->fixture->settings.dry_run = true;
	g_assert_false(look(scene, 100, 300, 310));
	g_assert_false(look(scene, 100, 300, 302));
	scene->fixture->settings.dry_run = false;
	g_assert_false(look(scene, 100, 300, 302));
	scene->fixture->settings.dry_run = true;
	g_assert_true(look(scene, 100, 301, 302));
	scene->fixture->settings.dry_run = false;
	g_assert_false(look(scene, 100, 300, 302));
}

static bool look_at_them(void *data, GError **error)
{
	return snapshot_rotation_look(data, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	Pass *pass = &scene->fixture->pass;

	g_assert_false(look(scene, 100, 300, 310));
	fake_files_free(scene->files);
	scene->files = fake_files_new();
	fake_files_add_subvolume(scene->files, 310, true);
	fake_files_use(scene->files);
	failing_store_try(pass->store, look_at_them, pass);
	g_assert_true(pass->btrfs.snapshots_rotate);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/snapshot-rotation/" name, Scene, NULL, set_up, test, tear_down)
	ADD("snapshots-rotate-if-one-was-deleted-lately",
	    test_snapshots_rotate_if_one_was_deleted_lately);
	ADD("the-newest-snapshot-counts", test_the_newest_snapshot_counts);
	ADD("a-dry-run-notes-nothing", test_a_dry_run_notes_nothing);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
