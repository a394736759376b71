/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-coverage.h"

#include "hashstore/hash-store.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#define BLOCK     FIXTURE_BLOCK_BYTES
#define SUBVOLUME UINT64_C(256)

/* Two files that begin with the same extent and continue with another one each; and the file of the target. */
#define ONE   UINT64_C(300)
#define OTHER UINT64_C(301)
#define THIRD UINT64_C(302)

#define SOURCE      UINT64_C(0x40000000)
#define AFTER_ONE   UINT64_C(0x50000000)
#define AFTER_OTHER UINT64_C(0x60000000)
#define TARGET      UINT64_C(0x70000000)

/* Of the target; the others have half of it. */
#define BLOCKS 32
#define HALF   (BLOCKS / 2)

typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
	Object source;
	Object target;
	ObjectTable *table;
	ExtentFiles *extent_files;
	ExtentSources *sources;
	ExtentSums *sums;
	ExtentRefs *refs;
	ExtentCoverage *coverage;
} Scene;

static void set_up(Scene *scene, const void *data)
{
	scene->fixture = pass_fixture_new();
	scene->files = fake_files_new();
	fake_files_add_subvolume(scene->files, SUBVOLUME, false);
	pass_fixture_pose_as_btrfs(scene->fixture, FAKE_BTRFS_FD);
}

/* Add an extent whose blocks have the sums from @first_sum on. */
static Object add_extent(Scene *scene, uint64_t address, size_t blocks, uint32_t first_sum)
{
	Object extent = { .inode = address, .size_bytes = blocks * BLOCK };
	uint32_t sums[BLOCKS];

	for (size_t i = 0; i < blocks; i++)
		sums[i] = first_sum + (uint32_t)i;
	fake_files_add_sums(scene->files, address, sums, blocks);
	extent.id = pass_fixture_put_object(scene->fixture, &extent);
	return extent;
}

static void add_reference(Scene *scene, uint64_t inode, uint64_t offset, uint64_t address,
			  size_t blocks)
{
	const FakeReference reference = {
		.root = SUBVOLUME,
		.inode = inode,
		.offset = offset,
		.bytenr = address,
		.disk_bytes = blocks * BLOCK,
		.ram_bytes = blocks * BLOCK,
		.length = blocks * BLOCK,
	};

	fake_files_add_reference(scene->files, &reference);
}

/* The extent at @address is behind the common one in the file @inode only. */
static void add_after(Scene *scene, uint64_t inode, uint64_t address, uint32_t first_sum)
{
	fake_files_add_inode(scene->files, SUBVOLUME, inode, BLOCKS * BLOCK, 0, 1);
	add_reference(scene, inode, 0, SOURCE, HALF);
	add_reference(scene, inode, HALF * BLOCK, address, HALF);
	fake_files_add_named_extent(scene->files, address, HALF * BLOCK, SUBVOLUME, inode,
				    HALF * BLOCK);
	add_extent(scene, address, HALF, first_sum);
}

/* All is added: read the references to the target. */
static void begin(Scene *scene)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	static const BtrfsRef of_target[] = { { THIRD, 0, SUBVOLUME } };
	static const BtrfsRef of_source[] = { { ONE, 0, SUBVOLUME }, { OTHER, 0, SUBVOLUME } };
	Pass *pass = &scene->fixture->pass;
	g_autoptr(GError) error = NULL;
	ExtentRefsOutcome outcome;

	fake_files_use(scene->files);
	pass->subvolumes = read_only_subvolumes_new(SNAPSHOTS_AUTO);
	g_assert_true(read_only_subvolumes_read(pass->subvolumes, FAKE_BTRFS_FD, &error));
	pass->btrfs.scope =
		extent_scope_new(pass->filesystem, pass->settings, NULL, NULL, pass->stop);
	g_assert_true(hash_store_commit(pass->store, &error));
	scene->table = object_table_new(pass->store, RANK_BY_SIZE, pass->settings, NULL, &error);
	g_assert_no_error(error);
	scene->extent_files = extent_files_new(pass);
	scene->sources = extent_sources_new(pass, scene->table, scene->extent_files);
	scene->sums = extent_sums_new(FAKE_BTRFS_FD, &fake_files_info, secret);
	scene->refs = extent_refs_new(FAKE_BTRFS_FD, NULL);
	scene->coverage = extent_coverage_new(pass, scene->sums, scene->sources, scene->refs);

	fake_btrfs()->refs = of_target;
	fake_btrfs()->n_refs = G_N_ELEMENTS(of_target);
	g_assert_true(extent_refs_read(scene->refs, &scene->target, 8, &outcome, &error));
	g_assert_cmpint(outcome, ==, EXTENT_REFS_READ);
	fake_btrfs()->refs = of_source;
	fake_btrfs()->n_refs = G_N_ELEMENTS(of_source);
}

static void tear_down(Scene *scene, const void *data)
{
	Pass *pass = &scene->fixture->pass;

	extent_coverage_free(scene->coverage);
	extent_refs_free(scene->refs);
	extent_sums_free(scene->sums);
	extent_sources_free(scene->sources);
	extent_files_free(scene->extent_files);
	object_table_free(scene->table);
	extent_scope_free(pass->btrfs.scope);
	read_only_subvolumes_free(pass->subvolumes);
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

/* The target's first half equals the source.  Its second one equals what follows the source in one of two files. */
static void add_halves(Scene *scene)
{
	scene->source = add_extent(scene, SOURCE, HALF, 1000);
	fake_files_add_extent(scene->files, SOURCE, HALF * BLOCK, true, 1);
	add_after(scene, ONE, AFTER_ONE, 2000);
	add_after(scene, OTHER, AFTER_OTHER, 1000 + HALF);
	scene->target = add_extent(scene, TARGET, BLOCKS, 1000);
	fake_files_add_inode(scene->files, SUBVOLUME, THIRD, BLOCKS * BLOCK, 0, 1);
	add_reference(scene, THIRD, 0, TARGET, BLOCKS);
	fake_files_add_named_extent(scene->files, TARGET, BLOCKS * BLOCK, SUBVOLUME, THIRD, 0);
	begin(scene);
}

static bool find(void *data, GError **error)
{
	Scene *scene = data;
	const Run run = { .target_rank = object_table_rank(scene->table, scene->target.id),
			  .source = scene->source.id,
			  .blocks = HALF };
	g_autoptr(GArray) runs = g_array_new(false, false, sizeof(Run));

	g_array_append_val(runs, run);
	return extent_coverage_find(scene->coverage, &scene->target, false, runs, error);
}

static void test_the_file_that_continues_like_the_target_covers_the_rest(Scene *scene,
									 const void *data)
{
	g_autoptr(GError) error = NULL;

	add_halves(scene);
	g_assert_true(find(scene, &error));
	g_assert_no_error(error);
	g_assert_true(extent_coverage_is_all(scene->coverage));
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	add_halves(scene);
	failing_store_try(scene->fixture->pass.store, find, scene);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/extent-coverage/" name, Scene, NULL, set_up, test, tear_down)
	ADD("the-file-that-continues-like-the-target-covers-the-rest",
	    test_the_file_that_continues_like_the_target_covers_the_rest);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
