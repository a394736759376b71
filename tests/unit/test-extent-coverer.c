/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/extent-coverer.h"

#define BLOCK UINT64_C(4096)
#define WAY   2

static atomic_bool stop;

typedef struct {
	Settings settings;
	EstimateTask task;
	ExtentCoverer *coverer;
} Fixture;

static void set_up(Fixture *fixture, const void *data)
{
	fixture->settings.memory_bytes = SETTINGS_MEMORY_MIN_BYTES;
	fixture->task = (EstimateTask){ .settings = &fixture->settings,
					.directory = g_get_tmp_dir(),
					.identity.block_bytes = BLOCK,
					.stop = &stop };
	fixture->coverer = extent_coverer_new(&fixture->task, NULL);
	g_assert_nonnull(fixture->coverer);
}

static void tear_down(Fixture *fixture, const void *data)
{
	extent_coverer_free(fixture->coverer);
}

/* Extents of so many blocks each, the first of which most rather stays. */
static void add_extents(Fixture *fixture, const uint64_t *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const CoveredExtent extent = { .bytes = blocks[i] * BLOCK, .n_places = 1 };

		g_assert_true(extent_coverer_add_extent(fixture->coverer, &extent, NULL));
		extent_coverer_show(fixture->coverer, i, blocks[i]);
	}
}

static void add_piece(Fixture *fixture, uint64_t target, uint64_t source, uint64_t position,
		      uint32_t n_blocks)
{
	const EqualPiece piece = { target, source, position, n_blocks, 1U << WAY };

	g_assert_true(extent_coverer_add(fixture->coverer, &piece, NULL));
}

static uint64_t count(Fixture *fixture, uint64_t *ret_n_runs)
{
	CoverResult result;

	g_assert_true(extent_coverer_count(fixture->coverer, WAY, &result, NULL));
	for (unsigned way = 0; way < ESTIMATE_WAYS; way++)
		if (way != WAY)
			g_assert_cmpuint(result.freed_bytes[way], ==, 0);
	g_assert_cmpuint(result.deferred_bytes, ==, 0);
	*ret_n_runs = result.n_runs;
	return result.freed_bytes[WAY];
}

static void test_of_two_equal_extents_one_is_freed(Fixture *fixture, const void *data)
{
	static const uint64_t blocks[] = { 64, 64 };
	uint64_t n_runs;

	add_extents(fixture, blocks, 2);
	add_piece(fixture, 1, 0, 64, 64);
	add_piece(fixture, 0, 1, 0, 64);
	g_assert_cmpuint(count(fixture, &n_runs), ==, 64 * BLOCK);
	g_assert_cmpuint(n_runs, ==, 1);
}

static void test_half_of_an_extent_frees_nothing(Fixture *fixture, const void *data)
{
	static const uint64_t blocks[] = { 64, 64 };
	uint64_t n_runs;

	fixture->settings.rewrite = REWRITE_NEVER;
	add_extents(fixture, blocks, 2);
	add_piece(fixture, 1, 0, 64, 32);
	add_piece(fixture, 0, 1, 0, 32);
	g_assert_cmpuint(count(fixture, &n_runs), ==, 0);
	g_assert_cmpuint(n_runs, ==, 0);
}

static void test_a_small_rest_is_written_anew(Fixture *fixture, const void *data)
{
	static const uint64_t blocks[] = { 1024, 1024 };
	uint64_t n_runs;

	add_extents(fixture, blocks, 2);
	add_piece(fixture, 1, 0, 1024, 1000);
	g_assert_cmpuint(count(fixture, &n_runs), ==, 1000 * BLOCK);
}

static void test_several_sources_cover_one_target(Fixture *fixture, const void *data)
{
	static const uint64_t blocks[] = { 64, 64, 64 };
	uint64_t n_runs;

	fixture->settings.rewrite = REWRITE_NEVER;
	add_extents(fixture, blocks, 3);
	add_piece(fixture, 2, 0, 128, 40);
	add_piece(fixture, 2, 1, 160, 32);
	g_assert_cmpuint(count(fixture, &n_runs), ==, 64 * BLOCK);
	g_assert_cmpuint(n_runs, ==, 2);
}

/* The first cannot be freed by the second, of which more is not equal: so it serves as its source. */
static void test_what_stays_serves_the_longer_one(Fixture *fixture, const void *data)
{
	static const uint64_t blocks[] = { 128, 64 };
	uint64_t n_runs;

	fixture->settings.rewrite = REWRITE_NEVER;
	add_extents(fixture, blocks, 2);
	add_piece(fixture, 0, 1, 0, 64);
	add_piece(fixture, 0, EQUAL_HOLE, 64, 64);
	g_assert_cmpuint(count(fixture, &n_runs), ==, 128 * BLOCK);
}

static void test_a_source_is_never_freed(Fixture *fixture, const void *data)
{
	static const uint64_t blocks[] = { 64, 64, 64 };
	uint64_t n_runs;

	fixture->settings.rewrite = REWRITE_NEVER;
	add_extents(fixture, blocks, 3);
	/* 1 equals 0, and 2 equals 1 alone: if 1 is freed, 2 has no source. */
	add_piece(fixture, 1, 0, 64, 64);
	add_piece(fixture, 2, 1, 128, 64);
	g_assert_cmpuint(count(fixture, &n_runs), ==, 64 * BLOCK);
}

/* Of pieces that begin together only some are looked at; what finds the shorter one is not forgotten. */
static void test_each_way_has_one_of_many_pieces(Fixture *fixture, const void *data)
{
	const EqualPiece other = { 100, 0, 6400, 64, 1U << (WAY + 1) };
	uint64_t blocks[101];
	CoverResult result;

	for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++)
		blocks[i] = 64;
	fixture->settings.rewrite = REWRITE_NEVER;
	add_extents(fixture, blocks, G_N_ELEMENTS(blocks));
	for (uint64_t source = 0; source < 100; source++)
		add_piece(fixture, 100, source, 6400, 65);
	g_assert_true(extent_coverer_add(fixture->coverer, &other, NULL));
	g_assert_true(extent_coverer_count(fixture->coverer, WAY, &result, NULL));
	g_assert_cmpuint(result.freed_bytes[WAY], ==, 64 * BLOCK);
	g_assert_cmpuint(result.freed_bytes[WAY + 1], ==, 64 * BLOCK);
}

static void test_each_place_gets_its_items(Fixture *fixture, const void *data)
{
	const CoveredExtent shown_often = { .bytes = 64 * BLOCK, .n_places = 5 };
	static const uint64_t blocks[] = { 64 };
	uint64_t n_runs;

	add_extents(fixture, blocks, 1);
	g_assert_true(extent_coverer_add_extent(fixture->coverer, &shown_often, NULL));
	extent_coverer_show(fixture->coverer, 1, 64);
	add_piece(fixture, 1, 0, 64, 32);
	add_piece(fixture, 1, 0, 96, 32);
	g_assert_cmpuint(count(fixture, &n_runs), ==, 64 * BLOCK);
	g_assert_cmpuint(n_runs, ==, 2 * 5);
}

static void test_zeros_become_a_hole(Fixture *fixture, const void *data)
{
	static const uint64_t blocks[] = { 64 };
	uint64_t n_runs;

	add_extents(fixture, blocks, 1);
	add_piece(fixture, 0, EQUAL_HOLE, 0, 64);
	g_assert_cmpuint(count(fixture, &n_runs), ==, 64 * BLOCK);
}

/* One extent that is deferred, of 1024 blocks of which 8 are equal to no other. */
static CoverResult count_deferred(Fixture *fixture, uint64_t held_most_bytes)
{
	const CoveredExtent deferred = { .bytes = 1024 * BLOCK,
					 .n_places = 1,
					 .is_deferred = true };
	static const uint64_t blocks[] = { 1024, 64, 64 };
	CoverResult result;

	add_extents(fixture, blocks, G_N_ELEMENTS(blocks));
	g_assert_true(extent_coverer_add_extent(fixture->coverer, &deferred, NULL));
	extent_coverer_show(fixture->coverer, 3, 1024);
	add_piece(fixture, 2, 1, 1088, 64);
	add_piece(fixture, 3, 0, 1152, 1016);
	extent_coverer_bound_held(fixture->coverer, held_most_bytes);
	g_assert_true(extent_coverer_count(fixture->coverer, WAY, &result, NULL));
	g_assert_cmpuint(result.freed_bytes[WAY], ==, 64 * BLOCK);
	return result;
}

static void test_what_is_deferred_is_not_freed_at_once(Fixture *fixture, const void *data)
{
	CoverResult result = count_deferred(fixture, 8 * BLOCK);

	g_assert_cmpuint(result.deferred_bytes, ==, 1024 * BLOCK);
	g_assert_cmpuint(result.deferred_written_bytes, ==, 8 * BLOCK);
}

static void test_little_is_written_for_what_is_deferred(Fixture *fixture, const void *data)
{
	CoverResult result = count_deferred(fixture, 7 * BLOCK);

	g_assert_cmpuint(result.deferred_bytes, ==, 0);
	g_assert_cmpuint(result.deferred_written_bytes, ==, 0);
}

static void add(const char *name, void (*test)(Fixture *, const void *))
{
	g_test_add(name, Fixture, NULL, set_up, test, tear_down);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	add("/extent-coverer/of-two-equal-extents-one-is-freed",
	    test_of_two_equal_extents_one_is_freed);
	add("/extent-coverer/half-of-an-extent-frees-nothing",
	    test_half_of_an_extent_frees_nothing);
	add("/extent-coverer/a-small-rest-is-written-anew", test_a_small_rest_is_written_anew);
	add("/extent-coverer/several-sources-cover-one-target",
	    test_several_sources_cover_one_target);
	add("/extent-coverer/what-stays-serves-the-longer-one",
	    test_what_stays_serves_the_longer_one);
	add("/extent-coverer/a-source-is-never-freed", test_a_source_is_never_freed);
	add("/extent-coverer/each-way-has-one-of-many-pieces",
	    test_each_way_has_one_of_many_pieces);
	add("/extent-coverer/each-place-gets-its-items", test_each_place_gets_its_items);
	add("/extent-coverer/zeros-become-a-hole", test_zeros_become_a_hole);
	add("/extent-coverer/what-is-deferred-is-not-freed-at-once",
	    test_what_is_deferred_is_not_freed_at_once);
	add("/extent-coverer/little-is-written-for-what-is-deferred",
	    test_little_is_written_for_what_is_deferred);
	return g_test_run();
}
