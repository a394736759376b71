/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/name-finder.h"

#include "tests/unit/fake-xfs.h"
#include "tests/unit/pass-fixture.h"

/* The kernel knows no inode, so no directory is read: only the time counts. */
static void test_names_read_ahead_may_lack_newer_files_until_all_are_read(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(NameBuffer) names = name_buffer_new(fixture->scratch->path);
	const FileStat no_state = { 0 };
	g_autoptr(NameFinder) finder = NULL;
	g_autoptr(GError) error = NULL;
	int64_t began_nsec;

	*fake_xfs() = (FakeXfs){ 0 };
	fixture->filesystem.fd = FAKE_XFS_FD;
	fixture->filesystem.roots = g_ptr_array_new();
	fixture->pass.throttle = throttle_new(0, NULL);
	fixture->pass.parallelism.n_readers = 2;
	finder = name_finder_new(&fixture->pass, names, &no_state);
	g_assert_false(name_finder_may_miss(finder, INT64_MAX));

	began_nsec = g_get_real_time() * 1000;
	name_finder_read_ahead(finder);
	g_assert_true(name_finder_read_changed(finder, &error));
	g_assert_no_error(error);
	g_assert_true(name_finder_may_miss(finder, INT64_MAX));
	g_assert_false(name_finder_may_miss(finder, began_nsec - 1));

	g_assert_true(name_finder_read_all(finder, &error));
	g_assert_no_error(error);
	g_assert_false(name_finder_may_miss(finder, INT64_MAX));

	name_finder_free(g_steal_pointer(&finder));
	throttle_free(fixture->pass.throttle);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/name-finder/names-read-ahead-may-lack-newer-files-until-all-are-read",
			test_names_read_ahead_may_lack_newer_files_until_all_are_read);

	return g_test_run();
}
