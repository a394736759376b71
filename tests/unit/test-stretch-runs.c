/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/stretch-runs.h"

#include "common/content/run.h"
#include "hashstore/hash-store.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#include <errno.h>

#define BLOCK   FIXTURE_BLOCK_BYTES
#define ROOT    UINT64_C(256)
#define INODE   UINT64_C(300)
#define ADDRESS UINT64_C(0x40000000)

/* Of the stretch, and of the extent that equals it. */
#define BLOCKS 16
#define HALF   (BLOCKS / 2)

/* A stretch of two extents, which equals a third one. */
typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
	uint32_t parts[2];
	uint32_t stretch;
	uint32_t source;
	ExtentSums *sums;
	ObjectTable *table;
	Sorter *from;
	Sorter *to;
} Scene;

static uint32_t put_extent(Scene *scene, uint64_t address, uint32_t first_sum, size_t blocks)
{
	const Object extent = { .inode = address, .size_bytes = blocks * BLOCK };
	uint32_t sums[BLOCKS];

	for (size_t i = 0; i < blocks; i++)
		sums[i] = first_sum + (uint32_t)i;
	fake_files_add_sums(scene->files, address, sums, blocks);
	return pass_fixture_put_object(scene->fixture, &extent);
}

static void put_part(Scene *scene, size_t i)
{
	const FakeReference reference = {
		.root = ROOT,
		.inode = INODE,
		.offset = i * HALF * BLOCK,
		.bytenr = ADDRESS + i * (UINT64_C(1) << 20),
		.disk_bytes = HALF * BLOCK,
		.ram_bytes = HALF * BLOCK,
		.length = HALF * BLOCK,
	};

	fake_files_add_reference(scene->files, &reference);
	scene->parts[i] = put_extent(scene, reference.bytenr, (uint32_t)(1000 + i * HALF), HALF);
}

static Sorter *new_runs(const Scene *scene)
{
	return sorter_new(sizeof(Run), run_compare, 1 << 20, scene->fixture->scratch->path, NULL);
}

static void set_up(Scene *scene, const void *data)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	const Object stretch = { .subvolume = OBJECT_STRETCHES,
				 .ctime_nsec = (int64_t)ROOT,
				 .parent = INODE,
				 .size_bytes = BLOCKS * BLOCK };
	g_autoptr(GError) error = NULL;
	Pass *pass;

	scene->fixture = pass_fixture_new();
	scene->fixture->filesystem.fd = FAKE_BTRFS_FD;
	scene->files = fake_files_new();
	scene->source = put_extent(scene, 2 * ADDRESS, 1000, BLOCKS);
	put_part(scene, 0);
	put_part(scene, 1);
	scene->stretch = pass_fixture_put_object(scene->fixture, &stretch);
	fake_files_use(scene->files);

	pass = &scene->fixture->pass;
	scene->sums = extent_sums_new(FAKE_BTRFS_FD, &fake_files_info, secret);
	g_assert_true(hash_store_commit(pass->store, &error));
	scene->table = object_table_new(pass->store, RANK_BY_SIZE, pass->settings, NULL, &error);
	g_assert_no_error(error);
	scene->from = new_runs(scene);
	scene->to = new_runs(scene);
}

static void tear_down(Scene *scene, const void *data)
{
	sorter_free(scene->from);
	sorter_free(scene->to);
	object_table_free(scene->table);
	extent_sums_free(scene->sums);
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

/* Some blocks in the middle of the stretch equal those of the extent. */
static bool resolve(Scene *scene, GError **error)
{
	const Run run = { .target_rank = object_table_rank(scene->table, scene->stretch),
			  .target_block = HALF - 1,
			  .source_block = HALF - 1,
			  .blocks = 2,
			  .source = scene->source };

	g_assert_true(sorter_add(scene->from, &run, error));
	g_assert_true(sorter_sort(scene->from, error));
	return stretch_runs_resolve(&scene->fixture->pass, scene->sums, scene->table, scene->from,
				    scene->to, error);
}

static void test_a_run_of_a_stretch_becomes_one_of_each_extent(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;
	const Run *run;

	g_assert_true(resolve(scene, &error));
	for (size_t i = 0; i < G_N_ELEMENTS(scene->parts); i++) {
		g_assert_true(sorter_next(scene->to, (const void **)&run, &error));
		g_assert_nonnull(run);
		g_assert_cmpuint(run_target(run), ==, scene->parts[i]);
		g_assert_cmpuint(run->target_block, ==, 0);
		g_assert_cmpuint(run->source, ==, scene->source);
		g_assert_cmpuint(run->source_class, ==,
				 object_table_rank_class(scene->table, scene->source));
		g_assert_cmpuint(run->source_class, !=, 0);
		g_assert_cmpuint(run->source_block, ==, i * HALF);
		g_assert_cmpuint(run->blocks, ==, HALF);
	}
	g_assert_true(sorter_next(scene->to, (const void **)&run, &error));
	g_assert_null(run);
	g_assert_no_error(error);
}

static void test_a_file_that_cannot_be_read_is_an_error(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;

	fake_btrfs()->error = EIO;
	g_assert_false(resolve(scene, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_IO);
}

static bool resolve_again(void *data, GError **error)
{
	Scene *scene = data;

	sorter_free(scene->from);
	sorter_free(scene->to);
	scene->from = new_runs(scene);
	scene->to = new_runs(scene);
	return resolve(scene, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	failing_store_try(scene->fixture->pass.store, resolve_again, scene);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/stretch-runs/" name, Scene, NULL, set_up, test, tear_down)
	ADD("a-run-of-a-stretch-becomes-one-of-each-extent",
	    test_a_run_of_a_stretch_becomes_one_of_each_extent);
	ADD("a-file-that-cannot-be-read-is-an-error", test_a_file_that_cannot_be_read_is_an_error);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
