/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/extent-history.h"

#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#define ADDRESS UINT64_C(0x40000000)
#define BYTES   UINT64_C(0x100000)

/* As in extent-finder.c: the store has all extents of earlier transactions. */
#define NEXT_NOTE "btrfs-generation"
#define NEXT      UINT64_C(50)

typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
} Scene;

static void set_up(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;

	scene->fixture = pass_fixture_new();
	scene->fixture->filesystem.fd = FAKE_BTRFS_FD;
	/* The store lies on another one. */
	scene->fixture->filesystem.identity.uuid[0] = 1;
	scene->files = fake_files_new();
	g_assert_true(hash_store_set_number(scene->fixture->pass.store, NEXT_NOTE, NEXT, &error));
	g_assert_no_error(error);
}

static void tear_down(Scene *scene, const void *data)
{
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

static bool is_continued(Scene *scene)
{
	g_autoptr(Witnesses) none = witnesses_new();
	g_autoptr(GError) error = NULL;
	bool ret;

	fake_files_use(scene->files);
	g_assert_true(extent_history_check(&scene->fixture->pass, none, &ret, &error));
	g_assert_no_error(error);
	return ret;
}

static void test_data_that_the_store_should_know_is_of_another_history(Scene *scene,
								       const void *data)
{
	fake_files_add_extent(scene->files, ADDRESS, BYTES, true, NEXT - 1);
	g_assert_false(is_continued(scene));
}

static void test_data_that_the_store_has_not_seen_yet_tells_nothing(Scene *scene, const void *data)
{
	fake_files_add_extent(scene->files, ADDRESS, BYTES, true, NEXT);
	g_assert_true(is_continued(scene));
}

/* Tree blocks have such items without the feature "skinny-metadata"; the finder reports invalid ones. */
static void test_tree_blocks_and_invalid_items_tell_nothing(Scene *scene, const void *data)
{
	fake_files_add_extent(scene->files, ADDRESS, 16384, false, NEXT - 1);
	fake_files_add(scene->files, BTRFS_EXTENT_TREE_OBJECTID,
		       (BtrfsKey){ ADDRESS + BYTES, BTRFS_EXTENT_ITEM_KEY, BYTES }, "short", 5,
		       NEXT - 1);
	g_assert_true(is_continued(scene));
}

static bool check_it(void *data, GError **error)
{
	g_autoptr(Witnesses) none = witnesses_new();
	bool is_continued;

	return extent_history_check(data, none, &is_continued, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	fake_files_add_extent(scene->files, ADDRESS, BYTES, true, NEXT - 1);
	fake_files_use(scene->files);
	failing_store_try(scene->fixture->pass.store, check_it, &scene->fixture->pass);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/extent-history/" name, Scene, NULL, set_up, test, tear_down)
	ADD("data-that-the-store-should-know-is-of-another-history",
	    test_data_that_the_store_should_know_is_of_another_history);
	ADD("data-that-the-store-has-not-seen-yet-tells-nothing",
	    test_data_that_the_store_has_not_seen_yet_tells_nothing);
	ADD("tree-blocks-and-invalid-items-tell-nothing",
	    test_tree_blocks_and_invalid_items_tell_nothing);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
