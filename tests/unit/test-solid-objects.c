/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/solid-estimate.h"
#include "daemon/solid-objects.h"

#define BLOCK_BYTES  4096
#define ROUND_BLOCKS 4096

static void test_what_was_added_is_known(void)
{
	g_autoptr(SolidObjects) solid = solid_objects_new();

	solid_objects_add(solid, 3, 7);
	solid_objects_add(solid, 9, 1);
	g_assert_cmpuint(solid_objects_blocks(solid, 3), ==, 7);
	g_assert_cmpuint(solid_objects_blocks(solid, 9), ==, 1);
	g_assert_cmpuint(solid_objects_blocks(solid, 4), ==, 0);
	g_assert_cmpuint(solid_objects_blocks(solid, 10), ==, 0);
}

static void test_ids_out_of_order_and_sizes_out_of_range_are_left_out(void)
{
	g_autoptr(SolidObjects) solid = solid_objects_new();

	solid_objects_add(solid, 5, 2);
	solid_objects_add(solid, 4, 2);
	solid_objects_add(solid, 6, UINT64_C(1) << 32);
	solid_objects_add(solid, 7, 3);
	g_assert_cmpuint(solid_objects_blocks(solid, 4), ==, 0);
	g_assert_cmpuint(solid_objects_blocks(solid, 6), ==, 0);
	g_assert_cmpuint(solid_objects_blocks(solid, 7), ==, 3);
}

static void test_without_a_set_nothing_is_known(void)
{
	solid_objects_add(NULL, 1, 1);
	g_assert_cmpuint(solid_objects_blocks(NULL, 1), ==, 0);
}

typedef struct {
	uint64_t target_block, source_block, blocks; /* of the run */
	uint64_t target_blocks, source_blocks;
	uint64_t settled_first, settled_end;
	uint64_t expected_blocks, expected_runs;
} EstimateCase;

static const EstimateCase cases[] = {
	/* All of it. */
	{ 0, 0, 10, 10, 10, 0, 0, 10, 1 },
	/* Settled already, all or the middle. */
	{ 0, 0, 10, 10, 10, 0, 10, 0, 0 },
	{ 0, 0, 10, 10, 10, 4, 6, 8, 2 },
	/* Cut off where one of them ends. */
	{ 0, 0, 10, 8, 10, 0, 0, 8, 1 },
	{ 0, 0, 10, 10, 7, 0, 0, 7, 1 },
	/* At other places, over the end of the source. */
	{ 5, 2, 10, 100, 9, 0, 0, 7, 1 },
	{ 2, 5, 10, 100, 9, 0, 0, 4, 1 },
	/* In rounds. */
	{ 0, 0, ROUND_BLOCKS + 1, 2 * ROUND_BLOCKS, 2 * ROUND_BLOCKS, 0, 0, ROUND_BLOCKS + 1, 2 },
};

static void test_an_estimate_is_what_of_the_run_is_not_settled(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const EstimateCase *c = &cases[i];
		g_autoptr(BlockSet) settled = block_set_new();
		PassResult result = { 0 };
		Pass pass = { .block_bytes = BLOCK_BYTES, .result = &result };
		Run run = {
			.target_block = c->target_block,
			.source_block = c->source_block,
			.blocks = c->blocks,
		};

		if (c->settled_end > c->settled_first)
			block_set_add(settled, c->settled_first, c->settled_end);
		for (int turn = 0; turn < 2; turn++)
			solid_estimate_add(&pass, &run, c->target_blocks, c->source_blocks,
					   settled);
		g_assert_cmpuint(result.shared.bytes, ==, c->expected_blocks * BLOCK_BYTES);
		g_assert_cmpuint(result.freed.bytes, ==, c->expected_blocks * BLOCK_BYTES);
		g_assert_cmpuint(result.shared.runs, ==, c->expected_runs);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/solid-objects/known", test_what_was_added_is_known);
	g_test_add_func("/solid-objects/left-out",
			test_ids_out_of_order_and_sizes_out_of_range_are_left_out);
	g_test_add_func("/solid-objects/none", test_without_a_set_nothing_is_known);
	g_test_add_func("/solid-objects/estimate",
			test_an_estimate_is_what_of_the_run_is_not_settled);
	return g_test_run();
}
