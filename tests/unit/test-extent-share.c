/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/share/extent-share.h"

#include "daemon/btrfs/pinned/deferred-extents.h"
#include "hashstore/hash-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#define ADDRESS UINT64_C(0x40000000)
#define BLOCKS  32

/* A pass with a target that equals an earlier extent. */
typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
	Object target;
	ExtentSums *sums;
	ObjectTable *table;
	Sorter *runs;
	RunOrder *order;
	ReplanList *replan;
} Scene;

static Object put_extent(Scene *scene, uint64_t address)
{
	Object extent = { .inode = address, .size_bytes = BLOCKS * FIXTURE_BLOCK_BYTES };

	extent.id = pass_fixture_put_object(scene->fixture, &extent);
	return extent;
}

static void set_up(Scene *scene, const void *data)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	g_autoptr(GError) error = NULL;
	Run run = { .blocks = BLOCKS };
	Pass *pass;

	scene->fixture = pass_fixture_new();
	scene->fixture->filesystem.fd = FAKE_BTRFS_FD;
	scene->files = fake_files_new();
	fake_files_use(scene->files);
	run.source = put_extent(scene, ADDRESS).id;
	scene->target = put_extent(scene, 2 * ADDRESS);

	pass = &scene->fixture->pass;
	pass->committed_usec = g_get_monotonic_time();
	g_assert_true(hash_store_commit(pass->store, &error));
	pass->postponed = postponed_new();
	pass->btrfs.ref_bound = btrfs_ref_bound_new(FAKE_BTRFS_FD);
	pass->btrfs.deferred = deferred_extents_new(pass);
	scene->sums = extent_sums_new(FAKE_BTRFS_FD, &fake_files_info, secret);
	scene->table = object_table_new(pass->store, RANK_BY_SIZE, pass->settings, NULL, &error);
	scene->runs =
		sorter_new(sizeof(Run), run_compare, 1 << 20, scene->fixture->scratch->path, NULL);
	run.target_rank = object_table_rank(scene->table, scene->target.id);
	g_assert_true(sorter_add(scene->runs, &run, &error));
	g_assert_true(sorter_sort(scene->runs, &error));
	g_assert_no_error(error);
	scene->order = run_order_new(scene->runs, NULL, NULL);
	scene->replan = replan_list_new(FIXTURE_BLOCK_BYTES, FIXTURE_ANCHOR_BLOCKS);
}

static void tear_down(Scene *scene, const void *data)
{
	replan_list_free(scene->replan);
	run_order_free(scene->order);
	sorter_free(scene->runs);
	object_table_free(scene->table);
	extent_sums_free(scene->sums);
	deferred_extents_free(scene->fixture->pass.btrfs.deferred);
	btrfs_ref_bound_free(scene->fixture->pass.btrfs.ref_bound);
	postponed_free(scene->fixture->pass.postponed);
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

static void test_a_target_that_stays_as_a_source_is_planned_once_more(Scene *scene,
								      const void *data)
{
	ShareRound round = { .replan = scene->replan };
	g_autoptr(GError) error = NULL;
	GHashTableIter iterator;
	gpointer id, entry;

	object_table_add_fact(scene->table, scene->target.id, FACT_LOCKED);
	g_assert_true(extents_share(&scene->fixture->pass, scene->sums, scene->table, scene->order,
				    &round, &error));
	g_assert_no_error(error);
	replan_list_iterate(scene->replan, &iterator);
	g_assert_true(g_hash_table_iter_next(&iterator, &id, &entry));
	g_assert_cmpuint(GPOINTER_TO_UINT(id), ==, scene->target.id);
	g_assert_false(g_hash_table_iter_next(&iterator, &id, &entry));
	g_assert_false(object_table_facts(scene->table, scene->target.id) &
		       (FACT_MOVED | FACT_PINNED));
}

/* Else what a role swap frees is freed, and counted, again at its own turn. */
static void test_a_target_that_was_planned_before_its_turn_is_not_planned_again(Scene *scene,
										const void *data)
{
	ShareRound round = { .replan = scene->replan };
	g_autoptr(GError) error = NULL;

	object_table_add_fact(scene->table, scene->target.id, FACT_MOVED);
	g_assert_true(extents_share(&scene->fixture->pass, scene->sums, scene->table, scene->order,
				    &round, &error));
	g_assert_no_error(error);
	/* A plan would have shown that this filesystem has no such extent. */
	g_assert_cmpuint(scene->fixture->pass.result->files.gone, ==, 0);
}

static void test_a_target_that_is_gone_is_counted(Scene *scene, const void *data)
{
	ShareRound round = { .replan = scene->replan };
	g_autoptr(GError) error = NULL;

	g_assert_true(extents_share(&scene->fixture->pass, scene->sums, scene->table, scene->order,
				    &round, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(scene->fixture->pass.result->files.gone, ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/extent-share/" name, Scene, NULL, set_up, test, tear_down)
	ADD("a-target-that-stays-as-a-source-is-planned-once-more",
	    test_a_target_that_stays_as_a_source_is_planned_once_more);
	ADD("a-target-that-was-planned-before-its-turn-is-not-planned-again",
	    test_a_target_that_was_planned_before_its_turn_is_not_planned_again);
	ADD("a-target-that-is-gone-is-counted", test_a_target_that_is_gone_is_counted);

	return g_test_run();
}
