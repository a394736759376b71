/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/block-search.h"

#include "common/content/run.h"
#include "hashstore/hash-store.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#include <fcntl.h>
#include <unistd.h>

#define ADDRESS UINT64_C(0x40000000)
#define APART   UINT64_C(0x100000)

/* Of an extent that is worth a search. */
#define BLOCKS 32

#define HALF (BLOCKS / 2)

/* Extents that begin with the same blocks. */
typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
	uint64_t next_address;
	ExtentSums *sums;
	ObjectTable *table;
	BlockSearch *search;
	Sorter *runs;
} Scene;

static Object put_extent(Scene *scene, size_t blocks)
{
	Object extent = { .inode = scene->next_address,
			  .size_bytes = blocks * FIXTURE_BLOCK_BYTES };
	uint32_t sums[BLOCKS];

	for (size_t i = 0; i < blocks; i++)
		sums[i] = (uint32_t)(1000 + i);
	fake_files_add_sums(scene->files, extent.inode, sums, blocks);
	extent.id = pass_fixture_put_object(scene->fixture, &extent);
	scene->next_address += APART;
	return extent;
}

static void set_up(Scene *scene, const void *data)
{
	scene->fixture = pass_fixture_new();
	/* A filesystem without data: a search is worth it in any case. */
	scene->fixture->filesystem.fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_assert_cmpint(scene->fixture->filesystem.fd, >=, 0);
	scene->files = fake_files_new();
	scene->next_address = ADDRESS;
}

static void begin(Scene *scene)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	Pass *pass = &scene->fixture->pass;
	g_autoptr(GError) error = NULL;

	fake_files_use(scene->files);
	scene->sums = extent_sums_new(FAKE_BTRFS_FD, &fake_files_info, secret);
	g_assert_true(hash_store_commit(pass->store, &error));
	scene->table = object_table_new(pass->store, RANK_BY_SIZE, pass->settings, NULL, &error);
	g_assert_no_error(error);
	scene->search = block_search_new(pass, scene->sums, scene->table);
	scene->runs =
		sorter_new(sizeof(Run), run_compare, 1 << 20, scene->fixture->scratch->path, NULL);
}

static void tear_down(Scene *scene, const void *data)
{
	sorter_free(scene->runs);
	block_search_free(scene->search);
	object_table_free(scene->table);
	extent_sums_free(scene->sums);
	fake_files_free(scene->files);
	close(scene->fixture->filesystem.fd);
	pass_fixture_free(scene->fixture);
}

/* Add an extent whose first half equals the one of @source. */
static bool try_to_add(Scene *scene, const Object *extent, uint32_t source, bool *ret_is_added,
		       GError **error)
{
	const ExtentPin pin = { .cause = PIN_UNCOVERED, .uncovered_bytes = extent->size_bytes / 2 };
	const Run run = { .blocks = HALF, .source = source };
	g_autoptr(GArray) runs = g_array_new(false, false, sizeof(Run));

	g_array_append_val(runs, run);
	return block_search_add(scene->search, extent, &pin, runs, ret_is_added, error);
}

static void add_wanted(Scene *scene, const Object *extent, uint32_t source)
{
	g_autoptr(GError) error = NULL;
	bool is_added;

	g_assert_true(try_to_add(scene, extent, source, &is_added, &error));
	g_assert_no_error(error);
	g_assert_true(is_added);
}

static void run_search(Scene *scene)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(block_search_run(scene->search, scene->runs, &error));
	g_assert_true(sorter_sort(scene->runs, &error));
	g_assert_no_error(error);
}

static void test_what_is_searched_for_may_be_a_target_once_more(Scene *scene, const void *data)
{
	Object source = put_extent(scene, BLOCKS);
	Object wanted = put_extent(scene, BLOCKS);

	begin(scene);
	add_wanted(scene, &wanted, source.id);
	object_table_add_fact(scene->table, wanted.id, FACT_PINNED);
	object_table_add_fact(scene->table, source.id, FACT_LOCKED | FACT_SERVED);
	run_search(scene);
	g_assert_cmpuint(object_table_facts(scene->table, wanted.id), ==, FACT_LIVE | FACT_EXTENT);
	g_assert_cmpuint(object_table_facts(scene->table, source.id), ==,
			 FACT_LIVE | FACT_EXTENT | FACT_SERVED);
}

static unsigned count_runs(Scene *scene, uint32_t target)
{
	g_autoptr(GError) error = NULL;
	const Run *run;
	unsigned n = 0;

	while (sorter_next(scene->runs, (const void **)&run, &error) && run) {
		g_assert_cmpuint(run->source_class, ==,
				 object_table_rank_class(scene->table, run->source));
		g_assert_cmpuint(run->source_class, !=, 0);
		n += run_target(run) == target;
	}
	g_assert_no_error(error);
	return n;
}

static void test_three_places_are_noted_of_a_block_and_further_ones_of_longer_runs(Scene *scene,
										   const void *data)
{
	Object wanted = put_extent(scene, BLOCKS);
	Object source = put_extent(scene, HALF);

	/* In the order of addresses. */
	for (unsigned i = 1; i < 5; i++)
		put_extent(scene, HALF);
	put_extent(scene, BLOCKS);
	put_extent(scene, HALF);
	begin(scene);
	add_wanted(scene, &wanted, source.id);
	run_search(scene);
	g_assert_cmpuint(count_runs(scene, wanted.id), ==, 3 + 1);
}

typedef struct {
	Scene *scene;
	const Object *wanted;
	uint32_t source;
} Search;

static bool search_again(void *data, GError **error)
{
	const Search *search = data;
	Scene *scene = search->scene;
	bool is_added;

	block_search_free(scene->search);
	scene->search = block_search_new(&scene->fixture->pass, scene->sums, scene->table);
	return try_to_add(scene, search->wanted, search->source, &is_added, error) &&
	       block_search_run(scene->search, scene->runs, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	Object source = put_extent(scene, BLOCKS);
	Object wanted = put_extent(scene, BLOCKS);
	Search search = { scene, &wanted, source.id };

	begin(scene);
	failing_store_try(scene->fixture->pass.store, search_again, &search);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/block-search/" name, Scene, NULL, set_up, test, tear_down)
	ADD("what-is-searched-for-may-be-a-target-once-more",
	    test_what_is_searched_for_may_be_a_target_once_more);
	ADD("three-places-are-noted-of-a-block-and-further-ones-of-longer-runs",
	    test_three_places_are_noted_of_a_block_and_further_ones_of_longer_runs);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
