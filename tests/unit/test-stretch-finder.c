/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/stretch-finder.h"

#include "daemon/btrfs/find/stretch.h"
#include "hashstore/hash-store.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#define BLOCK   FIXTURE_BLOCK_BYTES
#define ROOT    UINT64_C(256)
#define INODE   UINT64_C(300)
#define OTHER   UINT64_C(301)
#define ADDRESS UINT64_C(0x40000000)

/* Of each extent. */
#define BLOCKS 4
#define BYTES  ((uint64_t)BLOCKS * BLOCK)

/* The first look at files with small extents. */
typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
	ExtentSums *sums;
	ExtentFingerprinter *fingerprinter;
	StretchFinder *finder;
} Scene;

/* The file @inode references extent @number at @offset. */
static void add_reference(Scene *scene, uint64_t inode, uint64_t offset, unsigned number)
{
	const FakeReference reference = {
		.root = ROOT,
		.inode = inode,
		.offset = offset,
		.bytenr = ADDRESS + number * BYTES,
		.disk_bytes = BYTES,
		.ram_bytes = BYTES,
		.length = BYTES,
	};

	fake_files_add_reference(scene->files, &reference);
}

static void set_up(Scene *scene, const void *data)
{
	uint32_t sums[8 * BLOCKS];

	scene->fixture = pass_fixture_new();
	scene->fixture->filesystem.fd = FAKE_BTRFS_FD;
	/* The store is not to be committed meanwhile. */
	scene->fixture->pass.committed_usec = g_get_monotonic_time();
	scene->files = fake_files_new();
	for (uint32_t i = 0; i < G_N_ELEMENTS(sums); i++)
		sums[i] = 1000 + i;
	fake_files_add_sums(scene->files, ADDRESS, sums, G_N_ELEMENTS(sums));
}

/* All references are added. */
static void begin(Scene *scene)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	Pass *pass = &scene->fixture->pass;

	fake_files_use(scene->files);
	scene->sums = extent_sums_new(FAKE_BTRFS_FD, &fake_files_info, secret);
	scene->fingerprinter = extent_fingerprinter_new(pass, &fake_files_info, scene->sums);
	scene->finder = stretch_finder_new(pass, &fake_files_info, scene->fingerprinter, true);
}

static void tear_down(Scene *scene, const void *data)
{
	stretch_finder_free(scene->finder);
	extent_fingerprinter_free(scene->fingerprinter);
	extent_sums_free(scene->sums);
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

/* Extent @number is new, and found through this reference. */
static void add_new(Scene *scene, uint64_t inode, uint64_t offset, unsigned number)
{
	const DataExtent extent = { ADDRESS + number * BYTES, BYTES, 1, false };
	const BtrfsRef ref = { inode, offset, ROOT };
	g_autoptr(GError) error = NULL;

	fake_btrfs()->refs = &ref;
	fake_btrfs()->n_refs = 1;
	g_assert_true(stretch_finder_add(scene->finder, &extent, NULL, &error));
	g_assert_no_error(error);
	fake_btrfs()->n_refs = 0;
}

static void finish(Scene *scene)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(stretch_finder_finish(scene->finder, &error));
	g_assert_no_error(error);
}

/* The stretch that extent @number is part of; 0: none. */
static uint64_t stretch_of(Scene *scene, unsigned number)
{
	g_autoptr(GError) error = NULL;
	const Object *extent;

	g_assert_true(hash_store_find_at(scene->fixture->pass.store, OBJECT_EXTENTS,
					 ADDRESS + number * BYTES, &extent, &error));
	g_assert_nonnull(extent);
	return extent->parent;
}

static uint64_t count_stretches(Scene *scene)
{
	g_autoptr(GError) error = NULL;
	uint64_t n;

	g_assert_true(hash_store_count_objects_of(scene->fixture->pass.store, OBJECT_STRETCHES, &n,
						  &error));
	return n;
}

static void test_extents_side_by_side_form_a_stretch(Scene *scene, const void *data)
{
	add_reference(scene, INODE, 0, 1);
	add_reference(scene, INODE, BYTES, 0);
	begin(scene);
	add_new(scene, INODE, 0, 1);
	add_new(scene, INODE, BYTES, 0);
	finish(scene);
	g_assert_cmpuint(count_stretches(scene), ==, 1);
	g_assert_cmpuint(stretch_of(scene, 0), !=, 0);
	g_assert_cmpuint(stretch_of(scene, 1), ==, stretch_of(scene, 0));
}

static void test_an_extent_with_gaps_around_it_is_in_no_stretch(Scene *scene, const void *data)
{
	add_reference(scene, INODE, 0, 0);
	add_reference(scene, INODE, 2 * BYTES, 1);
	begin(scene);
	add_new(scene, INODE, 0, 0);
	add_new(scene, INODE, 2 * BYTES, 1);
	finish(scene);
	g_assert_cmpuint(count_stretches(scene), ==, 0);
	g_assert_cmpuint(stretch_of(scene, 0), ==, 0);
	g_assert_cmpuint(stretch_of(scene, 1), ==, 0);
}

/* Alone in their cells, both would be in none. */
static void test_a_stretch_goes_on_into_the_next_cell(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;
	const Object *stretch;

	add_reference(scene, INODE, STRETCH_CELL_BYTES - BYTES, 0);
	add_reference(scene, INODE, STRETCH_CELL_BYTES, 1);
	begin(scene);
	add_new(scene, INODE, STRETCH_CELL_BYTES - BYTES, 0);
	add_new(scene, INODE, STRETCH_CELL_BYTES, 1);
	finish(scene);
	g_assert_cmpuint(count_stretches(scene), ==, 1);
	g_assert_cmpuint(stretch_of(scene, 0), !=, 0);
	g_assert_cmpuint(stretch_of(scene, 1), ==, 0);
	g_assert_true(hash_store_find_at(scene->fixture->pass.store, OBJECT_STRETCHES,
					 stretch_of(scene, 0), &stretch, &error));
	g_assert_cmpuint(stretch_place(stretch).offset, ==, STRETCH_CELL_BYTES - BYTES);
	g_assert_cmpuint(stretch_place(stretch).length, ==, 2 * BYTES);
}

/* The first file has more new extents than the second one, which also references two of these. */
static void test_an_extent_is_new_to_the_first_of_its_files_only(Scene *scene, const void *data)
{
	for (unsigned i = 0; i < 3; i++)
		add_reference(scene, INODE, i * BYTES, i);
	add_reference(scene, OTHER, 0, 3);
	add_reference(scene, OTHER, BYTES, 4);
	add_reference(scene, OTHER, 3 * BYTES, 2);
	add_reference(scene, OTHER, 4 * BYTES, 0);
	begin(scene);
	for (unsigned i = 0; i < 3; i++)
		add_new(scene, INODE, i * BYTES, i);
	add_new(scene, OTHER, 0, 3);
	add_new(scene, OTHER, BYTES, 4);
	finish(scene);
	g_assert_cmpuint(count_stretches(scene), ==, 2);
	g_assert_cmpuint(stretch_of(scene, 2), ==, stretch_of(scene, 0));
	g_assert_cmpuint(stretch_of(scene, 3), !=, stretch_of(scene, 0));
	g_assert_cmpuint(stretch_of(scene, 4), ==, stretch_of(scene, 3));
}

/* As a pass does that begins anew after an error. */
static bool find_again(void *data, GError **error)
{
	static const DataExtent extents[] = { { ADDRESS, BYTES, 1, false },
					      { ADDRESS + BYTES, BYTES, 1, false } };
	static const BtrfsRef refs[] = { { INODE, 0, ROOT }, { INODE, BYTES, ROOT } };
	Scene *scene = data;
	Pass *pass = &scene->fixture->pass;
	g_autoptr(StretchFinder) finder =
		stretch_finder_new(pass, &fake_files_info, scene->fingerprinter, true);

	for (size_t i = 0; i < G_N_ELEMENTS(extents); i++) {
		bool done;

		fake_btrfs()->refs = &refs[i];
		fake_btrfs()->n_refs = 1;
		done = stretch_finder_add(finder, &extents[i], NULL, error);
		fake_btrfs()->n_refs = 0;
		if (!done)
			return false;
	}

	return stretch_finder_finish(finder, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	add_reference(scene, INODE, 0, 0);
	add_reference(scene, INODE, BYTES, 1);
	begin(scene);
	failing_store_try(scene->fixture->pass.store, find_again, scene);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/stretch-finder/" name, Scene, NULL, set_up, test, tear_down)
	ADD("extents-side-by-side-form-a-stretch", test_extents_side_by_side_form_a_stretch);
	ADD("an-extent-with-gaps-around-it-is-in-no-stretch",
	    test_an_extent_with_gaps_around_it_is_in_no_stretch);
	ADD("a-stretch-goes-on-into-the-next-cell", test_a_stretch_goes_on_into_the_next_cell);
	ADD("an-extent-is-new-to-the-first-of-its-files-only",
	    test_an_extent_is_new_to_the_first_of_its_files_only);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
