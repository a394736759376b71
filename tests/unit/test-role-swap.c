/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/role-swap.h"

#include "tests/unit/pass-fixture.h"

/* Sources that are looked at. */
#define SOURCES_MAX 16

typedef struct {
	PassFixture *fixture;
	ObjectTable *table;
	GArray *runs;
} Scene;

static void set_up(Scene *scene, const void *data)
{
	scene->fixture = pass_fixture_new();
	scene->runs = g_array_new(false, false, sizeof(Run));
}

static void tear_down(Scene *scene, const void *data)
{
	object_table_free(scene->table);
	g_array_unref(scene->runs);
	pass_fixture_free(scene->fixture);
}

static uint32_t put(Scene *scene, unsigned flags)
{
	return pass_fixture_put(scene->fixture, 64, flags);
}

static void read_table(Scene *scene)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(hash_store_commit(scene->fixture->pass.store, &error));
	scene->table = object_table_new(scene->fixture->pass.store, RANK_BY_SIZE,
					&scene->fixture->settings, NULL, &error);
	g_assert_no_error(error);
}

static void add_run(Scene *scene, uint32_t source, uint64_t blocks)
{
	const Run run = { .source = source, .blocks = blocks };

	g_array_append_val(scene->runs, run);
}

static uint32_t find(Scene *scene, uint64_t expected_blocks)
{
	uint64_t blocks;
	uint32_t source = role_swap_main_source(scene->table, scene->runs, &blocks);

	g_assert_cmpuint(blocks, ==, expected_blocks);
	return source;
}

static void test_the_source_with_most_blocks_is_the_main_one(Scene *scene, const void *data)
{
	uint32_t one = put(scene, 0), other = put(scene, 0);

	read_table(scene);
	g_assert_cmpuint(find(scene, 0), ==, RUN_HOLE);
	add_run(scene, RUN_HOLE, 100);
	g_assert_cmpuint(find(scene, 0), ==, RUN_HOLE);
	add_run(scene, one, 5);
	add_run(scene, other, 4);
	g_assert_cmpuint(find(scene, 5), ==, one);
	/* The first one of two. */
	add_run(scene, other, 1);
	g_assert_cmpuint(find(scene, 5), ==, one);
	add_run(scene, RUN_HOLE, 1);
	add_run(scene, other, 1);
	g_assert_cmpuint(find(scene, 6), ==, other);
}

static void test_one_that_has_to_stay_is_not_freed(Scene *scene, const void *data)
{
	static const struct {
		unsigned flags;
		ObjectFacts fact;
	} cases[] = {
		{ OBJECT_NO_COW, 0 }, { OBJECT_SHARED, 0 }, { OBJECT_IMMUTABLE, 0 },
		{ 0, FACT_HELD },     { 0, FACT_MOVED },    { 0, FACT_BARRED },
		{ 0, FACT_AWAY },     { 0, FACT_STRETCH },  { 0, FACT_PINNED },
	};
	uint32_t sources[G_N_ELEMENTS(cases)];
	uint32_t settled = put(scene, 0), free;

	pass_fixture_settle(scene->fixture);
	free = put(scene, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		sources[i] = put(scene, cases[i].flags);
	read_table(scene);

	add_run(scene, settled, 9);
	g_assert_cmpuint(find(scene, 9), ==, RUN_HOLE);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("case %zu", i);
		if (cases[i].fact)
			object_table_add_fact(scene->table, sources[i], cases[i].fact);
		g_array_set_size(scene->runs, 0);
		add_run(scene, sources[i], 9);
		add_run(scene, free, 8);
		g_assert_cmpuint(find(scene, 9), ==, RUN_HOLE);
	}

	g_array_set_size(scene->runs, 0);
	add_run(scene, free, 8);
	g_assert_cmpuint(find(scene, 8), ==, free);
}

/* Else an extent with a run for each block would take quadratic time. */
static void test_of_many_sources_the_first_ones_are_looked_at(Scene *scene, const void *data)
{
	uint32_t first = put(scene, 0);

	for (unsigned i = 1; i < 2 * SOURCES_MAX; i++)
		put(scene, 0);
	read_table(scene);
	for (unsigned i = 0; i < SOURCES_MAX; i++)
		add_run(scene, first + i, i + 1 == SOURCES_MAX ? 2 : 1);
	add_run(scene, first + SOURCES_MAX, 3);
	g_assert_cmpuint(find(scene, 2), ==, first + SOURCES_MAX - 1);
	/* Later runs of those count. */
	add_run(scene, first, 2);
	g_assert_cmpuint(find(scene, 3), ==, first);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/role-swap/" name, Scene, NULL, set_up, test, tear_down)
	ADD("the-source-with-most-blocks-is-the-main-one",
	    test_the_source_with_most_blocks_is_the_main_one);
	ADD("one-that-has-to-stay-is-not-freed", test_one_that_has_to_stay_is_not_freed);
	ADD("of-many-sources-the-first-ones-are-looked-at",
	    test_of_many_sources_the_first_ones_are_looked_at);

	return g_test_run();
}
