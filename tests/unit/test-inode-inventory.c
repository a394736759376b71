/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/inode-inventory.h"

#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#define SUBVOLUME UINT64_C(256)
#define INODE     UINT64_C(300)
/* BTRFS_INODE_NODATASUM of fs/btrfs/btrfs_inode.h. */
#define NO_SUMS UINT64_C(1)

#define BYTES UINT64_C(0x100000)

/* A file without checksums, which cannot be opened. */
typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
	BtrfsInfo info;
} Scene;

static void set_up(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;
	Settings *settings;
	Pass *pass;

	scene->fixture = pass_fixture_new();
	scene->files = fake_files_new();
	fake_files_add_subvolume(scene->files, SUBVOLUME, false);
	fake_files_add_inode(scene->files, SUBVOLUME, INODE, BYTES, NO_SUMS, 1);
	fake_files_use(scene->files);

	pass_fixture_pose_as_btrfs(scene->fixture, FAKE_BTRFS_FD);
	settings = &scene->fixture->settings;
	settings->compressed = COMPRESSED_READ;

	pass = &scene->fixture->pass;
	pass->filter = filter_new(NULL, 1);
	pass->subvolumes = read_only_subvolumes_new(settings->read_only_snapshots);
	pass->btrfs.scope = extent_scope_new(&scene->fixture->filesystem, settings, pass->filter,
					     NULL, pass->stop);
	g_assert_true(read_only_subvolumes_read(pass->subvolumes, FAKE_BTRFS_FD, &error));
	g_assert_true(btrfs_info_read(FAKE_BTRFS_FD, &scene->info, &error));
	g_assert_no_error(error);
}

static void tear_down(Scene *scene, const void *data)
{
	Pass *pass = &scene->fixture->pass;

	extent_scope_free(pass->btrfs.scope);
	read_only_subvolumes_free(pass->subvolumes);
	filter_free(pass->filter);
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

/* Look at the inodes, and read @n_read of the files found.  Returns how many were found. */
static uint64_t look(Scene *scene, uint64_t n_read)
{
	PassFixture *fixture = scene->fixture;
	g_autoptr(GError) error = NULL;
	g_autoptr(InodeInventory) inventory =
		inode_inventory_build(&fixture->pass, &scene->info, fixture->opener, &error);

	g_assert_no_error(error);
	fixture->result.files.read += n_read;
	g_assert_true(inode_inventory_end(inventory, &error));
	g_assert_no_error(error);
	return read_list_files(inode_inventory_to_read(inventory));
}

static void test_a_file_is_met_again_until_it_was_read(Scene *scene, const void *data)
{
	g_assert_cmpuint(look(scene, 0), ==, 1);
	g_assert_cmpuint(look(scene, 1), ==, 1);
	g_assert_cmpuint(look(scene, 0), ==, 0);
}

/* Extents count as files, too, and are read before these. */
static void test_what_was_read_before_counts_for_no_file(Scene *scene, const void *data)
{
	scene->fixture->result.files.read = 1;
	scene->fixture->result.files.set_aside = 1;
	g_assert_cmpuint(look(scene, 0), ==, 1);
	g_assert_cmpuint(look(scene, 0), ==, 1);
}

static bool look_at_them(void *data, GError **error)
{
	Scene *scene = data;
	PassFixture *fixture = scene->fixture;
	g_autoptr(InodeInventory) inventory =
		inode_inventory_build(&fixture->pass, &scene->info, fixture->opener, error);

	return inventory && inode_inventory_end(inventory, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	failing_store_try(scene->fixture->pass.store, look_at_them, scene);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/inode-inventory/" name, Scene, NULL, set_up, test, tear_down)
	ADD("a-file-is-met-again-until-it-was-read", test_a_file_is_met_again_until_it_was_read);
	ADD("what-was-read-before-counts-for-no-file",
	    test_what_was_read_before_counts_for_no_file);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
