/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-blocks.h"

#define BLOCK UINT64_C(4096)
#define SPAN  UINT64_C(256) /* blocks of the largest fixed size */

static atomic_bool stop;

typedef struct {
	Settings settings;
	EstimateTask task;
	EstimateBlocks *blocks;
} Fixture;

static void set_up(Fixture *fixture, const void *data)
{
	fixture->settings.memory_bytes = SETTINGS_MEMORY_MIN_BYTES;
	fixture->task = (EstimateTask){ .settings = &fixture->settings,
					.directory = g_get_tmp_dir(),
					.identity.block_bytes = BLOCK,
					.stop = &stop };
	fixture->blocks = estimate_blocks_new(&fixture->task);
}

static void tear_down(Fixture *fixture, const void *data)
{
	estimate_blocks_free(fixture->blocks);
}

static void add_data(Fixture *fixture, uint64_t sum)
{
	g_assert_true(estimate_blocks_add(fixture->blocks, ESTIMATE_BLOCK_DATA, sum, NULL));
}

static void add_zeros(Fixture *fixture, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		g_assert_true(estimate_blocks_add(fixture->blocks, ESTIMATE_BLOCK_ZEROS, 0, NULL));
}

static void skip(Fixture *fixture, EstimateBlockKind kind, uint64_t n)
{
	g_assert_true(estimate_blocks_skip(fixture->blocks, kind, n, NULL));
}

static void end_file(Fixture *fixture, uint64_t size_bytes)
{
	g_assert_true(estimate_blocks_end_file(fixture->blocks, size_bytes, NULL));
}

/* Two blocks of data with a hole between, and one at the end. */
static void add_sparse_file(Fixture *fixture, uint64_t hole, uint64_t end)
{
	estimate_blocks_begin_file(fixture->blocks);
	add_data(fixture, 1);
	skip(fixture, ESTIMATE_BLOCK_HOLE, hole);
	add_data(fixture, 2);
	skip(fixture, ESTIMATE_BLOCK_HOLE, end);
	end_file(fixture, (2 + hole + end) * BLOCK);
}

static uint64_t count_identical(Fixture *fixture)
{
	SampleCount counts[ESTIMATE_BLOCK_COUNTS];

	g_assert_true(estimate_blocks_count(fixture->blocks, counts, NULL));
	return counts[ESTIMATE_BLOCK_SIZES].saved_bytes;
}

/* A walk from span to span would take days. */
static void test_a_hole_of_any_length_takes_no_time(Fixture *fixture, const void *data)
{
	const uint64_t most = (UINT64_C(1) << 51) - 3;

	add_sparse_file(fixture, most, 0);
	add_sparse_file(fixture, most, 0);
	add_sparse_file(fixture, most - SPAN, SPAN);
	add_sparse_file(fixture, 5, most - 5);
	g_assert_cmpuint(count_identical(fixture), ==, 2 * BLOCK);
}

static void test_holes_equal_zeros_that_are_written(Fixture *fixture, const void *data)
{
	static const uint64_t holes[] = { 1, SPAN - 2, SPAN - 1, SPAN, 3 * SPAN + 7 };

	for (size_t i = 0; i < G_N_ELEMENTS(holes); i++) {
		add_sparse_file(fixture, holes[i], SPAN + 1);
		estimate_blocks_begin_file(fixture->blocks);
		add_data(fixture, 1);
		add_zeros(fixture, holes[i] / 2);
		skip(fixture, ESTIMATE_BLOCK_HOLE, holes[i] - holes[i] / 2);
		add_data(fixture, 2);
		add_zeros(fixture, SPAN + 1);
		end_file(fixture, (3 + holes[i] + SPAN) * BLOCK);
	}
	/* Either one of each two may be met first. */
	g_assert_cmpuint(count_identical(fixture), >=, G_N_ELEMENTS(holes) * 2 * BLOCK);
}

static void test_the_length_of_a_hole_matters(Fixture *fixture, const void *data)
{
	add_sparse_file(fixture, SPAN, 2 * SPAN);
	add_sparse_file(fixture, 2 * SPAN, SPAN);
	g_assert_cmpuint(count_identical(fixture), ==, 0);
}

static void test_what_is_unknown_equals_nothing(Fixture *fixture, const void *data)
{
	for (int i = 0; i < 2; i++) {
		estimate_blocks_begin_file(fixture->blocks);
		add_data(fixture, 1);
		skip(fixture, ESTIMATE_BLOCK_UNKNOWN, 2 * SPAN);
		end_file(fixture, (1 + 2 * SPAN) * BLOCK);
	}
	g_assert_cmpuint(count_identical(fixture), ==, 0);
}

/* Fixed blocks begin at multiples of their size, also behind a hole. */
static void test_blocks_keep_their_places(Fixture *fixture, const void *data)
{
	SampleCount counts[ESTIMATE_BLOCK_COUNTS];

	for (uint64_t hole = 1; hole <= 2; hole++) {
		estimate_blocks_begin_file(fixture->blocks);
		add_data(fixture, 10 + hole);
		skip(fixture, ESTIMATE_BLOCK_HOLE, hole * SPAN - 1);
		for (uint64_t i = 0; i < SPAN; i++)
			add_data(fixture, 100 + i);
		end_file(fixture, (hole + 1) * SPAN * BLOCK);
	}
	g_assert_true(estimate_blocks_count(fixture->blocks, counts, NULL));
	for (size_t i = 0; i < ESTIMATE_BLOCK_SIZES; i++)
		g_assert_cmpuint(counts[i].saved_bytes, ==, SPAN * BLOCK);
	g_assert_cmpuint(counts[ESTIMATE_BLOCK_SIZES].saved_bytes, ==, 0);
}

static void add(const char *name, void (*test)(Fixture *, const void *))
{
	g_test_add(name, Fixture, NULL, set_up, test, tear_down);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	add("/estimate-blocks/a-hole-of-any-length-takes-no-time",
	    test_a_hole_of_any_length_takes_no_time);
	add("/estimate-blocks/holes-equal-zeros-that-are-written",
	    test_holes_equal_zeros_that_are_written);
	add("/estimate-blocks/the-length-of-a-hole-matters", test_the_length_of_a_hole_matters);
	add("/estimate-blocks/what-is-unknown-equals-nothing", test_what_is_unknown_equals_nothing);
	add("/estimate-blocks/blocks-keep-their-places", test_blocks_keep_their_places);
	return g_test_run();
}
