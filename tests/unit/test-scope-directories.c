/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/boot-directories.h"
#include "daemon/context/scope-directories.h"

#include "tests/unit/fake-btrfs.h"

#include <string.h>

#define TOP      5
#define FIRST    257 /* the inode of the directory in the top one */
#define LEVELS   3000
#define SHALLOW  50
#define ITEM_MAX (10 + 255)

/* Nested directories whose names the kernel knows. */
typedef struct {
	FakeItem *items;
	uint8_t (*data)[ITEM_MAX];
	FilesystemRoot root;
	Filesystem filesystem;
	Filter *filter;
	FileKey own;
	FileKey boot[BOOT_DIRECTORIES];
	LookupBudget budget;
	atomic_bool stop;
	ScopeDirectories *directories;
} Chain;

static Chain *chain_new(size_t levels, size_t name_bytes, const char *glob)
{
	char *globs[] = { (char *)glob, NULL };
	Chain *chain = g_new0(Chain, 1);

	chain->items = g_new0(FakeItem, levels);
	chain->data = g_malloc0(levels * ITEM_MAX);
	for (size_t i = 0; i < levels; i++) {
		chain->data[i][8] = (uint8_t)name_bytes;
		memset(chain->data[i] + 10, 'd', name_bytes);
		chain->items[i] = (FakeItem){
			TOP,
			{ FIRST + i, BTRFS_INODE_REF_KEY, FIRST + i - 1 },
			chain->data[i],
			(uint32_t)(10 + name_bytes),
			1,
		};
	}
	*fake_btrfs() = (FakeBtrfs){ .items = chain->items, .n_items = levels };

	chain->root = (FilesystemRoot){ .path = (char *)"/", .subvolume = TOP, .inode = 256 };
	chain->filesystem.fd = FAKE_BTRFS_FD;
	chain->filesystem.roots = g_ptr_array_new();
	g_ptr_array_add(chain->filesystem.roots, &chain->root);
	chain->filter = filter_new(glob ? globs : NULL, 0);
	chain->budget = (LookupBudget)LOOKUP_BUDGET_INIT;
	chain->directories = scope_directories_new(&chain->filesystem, chain->filter, &chain->own,
						   chain->boot, &chain->budget, &chain->stop);
	return chain;
}

static void chain_free(Chain *chain)
{
	scope_directories_free(chain->directories);
	filter_free(chain->filter);
	g_ptr_array_unref(chain->filesystem.roots);
	g_free(chain->items);
	g_free(chain->data);
	g_free(chain);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Chain, chain_free)

static const PlacedDirectory *find(Chain *chain, uint64_t inode)
{
	const FileKey key = { TOP, inode };
	g_autoptr(GError) error = NULL;
	const PlacedDirectory *found;

	g_assert_true(scope_directories_find(chain->directories, &key, &found, &error));
	g_assert_no_error(error);
	return found;
}

/* The only root above the directory. */
static const RootAbove *root_above(Chain *chain, uint64_t inode)
{
	const PlacedDirectory *found = find(chain, inode);
	const RootAbove *above;
	size_t n;

	g_assert_nonnull(found);
	above = placed_directory_roots(found, &n);
	g_assert_cmpuint(n, ==, 1);
	return above;
}

static void assert_left_alone(Chain *chain, uint64_t inode, SkipReason reason)
{
	const RootAbove *above = root_above(chain, inode);

	g_assert_true(above->is_left_alone);
	g_assert_cmpstr(skip_reason_name(above->reason), ==, skip_reason_name(reason));
}

static void test_each_directory_is_searched_for_once(void)
{
	g_autoptr(Chain) chain = chain_new(LEVELS, 200, NULL);

	for (int i = 0; i < 100; i++)
		g_assert_false(root_above(chain, FIRST + LEVELS - 1)->is_left_alone);
	for (uint64_t i = 0; i < LEVELS; i++)
		g_assert_false(root_above(chain, FIRST + i)->is_left_alone);

	g_assert_cmpuint(scope_directories_searches(chain->directories), ==, LEVELS + 1);
	g_assert_cmpuint(fake_btrfs()->n_calls, <=, 2 * (LEVELS + 1));
}

static void test_no_glob_is_tried_on_very_long_paths(void)
{
	g_autoptr(Chain) chain = chain_new(LEVELS, 200, "*/never");
	size_t levels = FILTER_PATH_BYTES_MAX / 201;

	g_assert_false(root_above(chain, FIRST + levels - 1)->is_left_alone);
	assert_left_alone(chain, FIRST + levels, SKIP_TOO_DEEP);
	assert_left_alone(chain, FIRST + LEVELS - 1, SKIP_TOO_DEEP);
}

static void test_what_is_below_an_excluded_directory_is_excluded(void)
{
	g_autoptr(Chain) chain = chain_new(SHALLOW, 1, "/d/d/d");

	g_assert_false(root_above(chain, FIRST + 1)->is_left_alone);
	assert_left_alone(chain, FIRST + 2, SKIP_EXCLUDED);
	assert_left_alone(chain, FIRST + SHALLOW - 1, SKIP_EXCLUDED);
}

static void test_files_are_excluded_by_path_and_by_name(void)
{
	g_autoptr(Chain) chain = chain_new(SHALLOW, 1, "/d/d/file");
	const PlacedDirectory *outer = find(chain, FIRST + 1);
	size_t n;

	for (int i = 0; i < 2; i++) {
		g_assert_true(scope_directories_exclude(chain->directories, outer,
							placed_directory_roots(outer, &n), "file"));
		g_assert_false(scope_directories_exclude(
			chain->directories, outer, placed_directory_roots(outer, &n), "other"));
	}
}

static void test_the_state_directory_and_what_is_in_it_are_left_alone(void)
{
	g_autoptr(Chain) chain = chain_new(SHALLOW, 1, NULL);

	chain->own = (FileKey){ TOP, FIRST + 3 };
	g_assert_false(root_above(chain, FIRST + 2)->is_left_alone);
	assert_left_alone(chain, FIRST + 3, SKIP_OWN_STATE);
	assert_left_alone(chain, FIRST + SHALLOW - 1, SKIP_OWN_STATE);
}

static void test_a_directory_beside_the_root_has_none_above(void)
{
	g_autoptr(Chain) chain = chain_new(SHALLOW, 1, NULL);
	const PlacedDirectory *found;
	size_t n;

	chain->root.inode = FIRST + 10;
	g_assert_false(root_above(chain, FIRST + 10)->is_left_alone);
	found = find(chain, FIRST + 9);
	placed_directory_roots(found, &n);
	g_assert_cmpuint(n, ==, 0);
}

static void test_a_circle_is_below_no_root(void)
{
	g_autoptr(Chain) chain = chain_new(SHALLOW, 1, "*/never");

	chain->items[0].key.offset = FIRST + SHALLOW - 1;
	chain->budget = (LookupBudget){ UINT64_MAX, 0 };
	for (uint64_t i = 0; i < SHALLOW; i += SHALLOW / 2) {
		const PlacedDirectory *found = find(chain, FIRST + i);
		size_t n;

		g_assert_nonnull(found);
		placed_directory_roots(found, &n);
		g_assert_cmpuint(n, ==, 0);
	}
}

/* Nor if a damaged tree has the root itself in the circle; then only its own place is told. */
static void test_a_circle_through_the_root_is_below_no_root(void)
{
	g_autoptr(Chain) chain = chain_new(SHALLOW, 1, NULL);
	size_t n;

	chain->items[0].key.offset = FIRST + SHALLOW - 1;
	chain->root.inode = FIRST;
	chain->budget = (LookupBudget){ UINT64_MAX, 0 };
	placed_directory_roots(find(chain, FIRST + 1), &n);
	g_assert_cmpuint(n, ==, 0);
	root_above(chain, FIRST);
}

static void test_the_budget_and_the_stop_flag_end_a_climb(void)
{
	g_autoptr(Chain) chain = chain_new(LEVELS, 1, NULL);

	atomic_store(&chain->stop, true);
	g_assert_null(find(chain, FIRST + LEVELS - 1));
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 0);

	atomic_store(&chain->stop, false);
	chain->budget = (LookupBudget){ 300, 0 };
	g_assert_null(find(chain, FIRST + LEVELS - 1));
	g_assert_cmpuint(scope_directories_searches(chain->directories), <=,
			 300 / LOOKUP_SEARCH_UNITS);

	chain->budget = (LookupBudget)LOOKUP_BUDGET_INIT;
	g_assert_nonnull(find(chain, FIRST + LEVELS - 1));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add_func("/scope-directories/" name, test)
	ADD("a-circle-is-below-no-root", test_a_circle_is_below_no_root);
	ADD("a-circle-through-the-root-is-below-no-root",
	    test_a_circle_through_the_root_is_below_no_root);
	ADD("each-directory-is-searched-for-once", test_each_directory_is_searched_for_once);
	ADD("no-glob-is-tried-on-very-long-paths", test_no_glob_is_tried_on_very_long_paths);
	ADD("what-is-below-an-excluded-directory-is-excluded",
	    test_what_is_below_an_excluded_directory_is_excluded);
	ADD("files-are-excluded-by-path-and-by-name", test_files_are_excluded_by_path_and_by_name);
	ADD("the-state-directory-and-what-is-in-it-are-left-alone",
	    test_the_state_directory_and_what_is_in_it_are_left_alone);
	ADD("a-directory-beside-the-root-has-none-above",
	    test_a_directory_beside_the_root_has_none_above);
	ADD("the-budget-and-the-stop-flag-end-a-climb",
	    test_the_budget_and_the_stop_flag_end_a_climb);

	return g_test_run();
}
