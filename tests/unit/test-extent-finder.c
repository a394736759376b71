/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/extent-finder.h"

#include "daemon/btrfs/pinned/deferred-extents.h"
#include "daemon/btrfs/pinned/pinned-extents.h"
#include "hashstore/hash-store.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#include <errno.h>

#define ROOT    UINT64_C(256)
#define INODE   UINT64_C(300)
#define ADDRESS UINT64_C(0x40000000)

/* Of an extent that is too long for a stretch. */
#define BLOCKS 64
#define BYTES  ((uint64_t)BLOCKS * FIXTURE_BLOCK_BYTES)

/* A filesystem with one extent, and an empty store. */
typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
	ExtentSums *sums;
} Scene;

static void set_up(Scene *scene, const void *data)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	uint32_t sums[BLOCKS];
	Pass *pass;

	scene->fixture = pass_fixture_new();
	scene->fixture->filesystem.fd = FAKE_BTRFS_FD;
	scene->files = fake_files_new();
	fake_files_add_named_extent(scene->files, ADDRESS, BYTES, ROOT, INODE, 0);
	for (uint32_t i = 0; i < BLOCKS; i++)
		sums[i] = 1000 + i;
	fake_files_add_sums(scene->files, ADDRESS, sums, BLOCKS);
	fake_files_use(scene->files);

	pass = &scene->fixture->pass;
	pass->committed_usec = g_get_monotonic_time();
	pass->room = store_room_new(pass->store, pass->settings->state_directory, UINT64_MAX);
	pass->btrfs.pinned = pinned_extents_new(pass);
	pass->btrfs.deferred = deferred_extents_new(pass);
	scene->sums = extent_sums_new(FAKE_BTRFS_FD, &fake_files_info, secret);
}

static void tear_down(Scene *scene, const void *data)
{
	Pass *pass = &scene->fixture->pass;

	extent_sums_free(scene->sums);
	deferred_extents_free(pass->btrfs.deferred);
	pinned_extents_free(pass->btrfs.pinned);
	store_room_free(pass->room);
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

static void test_an_extent_is_put_with_its_sums(Scene *scene, const void *data)
{
	Pass *pass = &scene->fixture->pass;
	g_autoptr(GError) error = NULL;
	const Object *extent;

	g_assert_true(extents_find(pass, &fake_files_info, scene->sums, &error));
	g_assert_no_error(error);
	g_assert_true(hash_store_find_at(pass->store, OBJECT_EXTENTS, ADDRESS, &extent, &error));
	g_assert_nonnull(extent);
	g_assert_cmpuint(extent->size_bytes, ==, BYTES);
	g_assert_cmpuint(object_extent_summed_blocks(extent), ==, BLOCKS);
}

/* Otherwise the extents would count as gone. */
static void test_a_tree_that_cannot_be_read_is_an_error(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;

	fake_btrfs()->error = EIO;
	g_assert_false(extents_find(&scene->fixture->pass, &fake_files_info, scene->sums, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_IO);
}

static bool find_them(void *data, GError **error)
{
	Scene *scene = data;

	return extents_find(&scene->fixture->pass, &fake_files_info, scene->sums, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	failing_store_try(scene->fixture->pass.store, find_them, scene);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/extent-finder/" name, Scene, NULL, set_up, test, tear_down)
	ADD("an-extent-is-put-with-its-sums", test_an_extent_is_put_with_its_sums);
	ADD("a-tree-that-cannot-be-read-is-an-error", test_a_tree_that_cannot_be_read_is_an_error);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
