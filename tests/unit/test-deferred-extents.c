/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/pinned/deferred-extents.h"

#include "hashstore/objects/open-extents.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#include <errno.h>

#define SNAPSHOT UINT64_C(300)
#define ADDRESS  (UINT64_C(1) << 30)
#define BYTES    (UINT64_C(1) << 20)

/* A pass that deferred an extent, which SNAPSHOT holds. */
typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
	BtrfsRefBound *bound;
	DeferredExtents *deferred;
} Scene;

static void set_up(Scene *scene, const void *data)
{
	const Object extent = { .inode = ADDRESS, .size_bytes = BYTES };
	g_autoptr(GArray) holders = g_array_new(false, false, sizeof(uint64_t));
	g_autoptr(GError) error = NULL;
	uint64_t holder = SNAPSHOT;
	Pass *pass;

	scene->fixture = pass_fixture_new();
	scene->fixture->filesystem.fd = FAKE_BTRFS_FD;
	scene->files = fake_files_new();
	fake_files_use(scene->files);
	pass = &scene->fixture->pass;
	scene->bound = pass->btrfs.ref_bound = btrfs_ref_bound_new(FAKE_BTRFS_FD);
	scene->deferred = deferred_extents_new(pass);
	pass_fixture_put_object(scene->fixture, &extent);
	g_array_append_val(holders, holder);
	g_assert_true(deferred_extents_begin(scene->deferred, &error));
	g_assert_true(deferred_extents_put(scene->deferred, &extent, holders, &error));
	g_assert_no_error(error);
}

static void tear_down(Scene *scene, const void *data)
{
	deferred_extents_free(scene->deferred);
	btrfs_ref_bound_free(scene->bound);
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

/* What the next pass finds to be released, as no snapshot holds it any more. */
static uint64_t released_bytes(Scene *scene)
{
	const PassResult *result = &scene->fixture->result;
	g_autoptr(GError) error = NULL;

	g_assert_true(hash_store_drop_extent(scene->fixture->pass.store, ADDRESS, &error));
	g_assert_true(deferred_extents_end(scene->deferred, &error));
	g_assert_no_error(error);
	return result->deferred.released_bytes;
}

static void lose(Scene *scene)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(deferred_extents_lose(scene->deferred, ADDRESS, &error));
	g_assert_no_error(error);
}

static void test_an_extent_that_no_snapshot_held_any_more_is_released(Scene *scene,
								      const void *data)
{
	lose(scene);
	g_assert_cmpuint(released_bytes(scene), ==, BYTES);
}

static void test_an_extent_that_a_snapshot_held_was_moved(Scene *scene, const void *data)
{
	fake_files_add_subvolume(scene->files, SNAPSHOT, true);
	fake_files_use(scene->files);
	lose(scene);
	g_assert_cmpuint(released_bytes(scene), ==, 0);
}

static void test_a_snapshot_that_became_writable_holds_nothing(Scene *scene, const void *data)
{
	fake_files_add_subvolume(scene->files, SNAPSHOT, false);
	fake_files_use(scene->files);
	lose(scene);
	g_assert_cmpuint(released_bytes(scene), ==, BYTES);
}

static void test_subvolumes_that_cannot_be_read_are_an_error(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;

	fake_btrfs()->error = EIO;
	g_assert_false(deferred_extents_lose(scene->deferred, ADDRESS, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_IO);
}

/* Nothing has to be looked up for an address that is not deferred. */
static void test_another_extent_is_lost_without_a_look(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;

	fake_btrfs()->error = EIO;
	g_assert_true(deferred_extents_lose(scene->deferred, 2 * ADDRESS, &error));
	g_assert_no_error(error);
}

static void test_a_dry_run_counts_an_extent_that_is_gone_and_keeps_it(Scene *scene,
								      const void *data)
{
	HashStore *store = scene->fixture->pass.store;
	g_autoptr(GError) error = NULL;
	PinnedExtent row;
	bool found, is_over;

	scene->fixture->settings.dry_run = true;
	g_assert_true(hash_store_find_pinned(store, ADDRESS, &row, &found, &error));
	g_assert_true(deferred_extents_check(scene->deferred, &row, &is_over, &error));
	g_assert_no_error(error);
	g_assert_false(is_over);
	g_assert_cmpuint(scene->fixture->result.files.gone, ==, 1);
	g_assert_true(hash_store_find_pinned(store, ADDRESS, &row, &found, &error));
	g_assert_true(found);
}

static bool lose_it(void *data, GError **error)
{
	return deferred_extents_lose(data, ADDRESS, error);
}

static bool end_it(void *data, GError **error)
{
	return deferred_extents_end(data, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	HashStore *store = scene->fixture->pass.store;

	fake_files_add_subvolume(scene->files, SNAPSHOT, true);
	fake_files_use(scene->files);
	failing_store_try(store, lose_it, scene->deferred);
	g_assert_true(hash_store_drop_extent(store, ADDRESS, NULL));
	failing_store_try(store, end_it, scene->deferred);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/deferred-extents/" name, Scene, NULL, set_up, test, tear_down)
	ADD("an-extent-that-no-snapshot-held-any-more-is-released",
	    test_an_extent_that_no_snapshot_held_any_more_is_released);
	ADD("an-extent-that-a-snapshot-held-was-moved",
	    test_an_extent_that_a_snapshot_held_was_moved);
	ADD("a-snapshot-that-became-writable-holds-nothing",
	    test_a_snapshot_that_became_writable_holds_nothing);
	ADD("subvolumes-that-cannot-be-read-are-an-error",
	    test_subvolumes_that_cannot_be_read_are_an_error);
	ADD("another-extent-is-lost-without-a-look", test_another_extent_is_lost_without_a_look);
	ADD("a-dry-run-counts-an-extent-that-is-gone-and-keeps-it",
	    test_a_dry_run_counts_an_extent_that_is_gone_and_keeps_it);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
