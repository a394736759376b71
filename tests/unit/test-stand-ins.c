/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fingerprint/stand-ins.h"
#include "tests/unit/scratch.h"

#define BLOCK UINT64_C(4096)
#define PLACE (100 * BLOCK)
#define N     10

typedef struct {
	Scratch *scratch;
	SumCache *cache;
	StandIns *stands;
} Fixture;

static void set_up(Fixture *fixture, const void *by_owner)
{
	uint64_t sums[N];

	for (size_t i = 0; i < N; i++)
		sums[i] = i + 1;
	fixture->scratch = scratch_new();
	fixture->cache = sum_cache_new(fixture->scratch->path, BLOCK, 1 << 20);
	sum_cache_put(fixture->cache, PLACE, sums, N);
	fixture->stands = stand_ins_new(fixture->cache, BLOCK, by_owner != NULL);
}

static void tear_down(Fixture *fixture, const void *by_owner)
{
	(void)by_owner;
	stand_ins_free(fixture->stands);
	sum_cache_free(fixture->cache);
	scratch_free(fixture->scratch);
}

/* The next blocks of the object in hand, from @block on, lie at @place; how many have a stand. */
static size_t add(Fixture *fixture, uint64_t block, uint64_t place, size_t n)
{
	uint32_t stands[N];
	size_t n_found = 0;

	stand_ins_look_up(fixture->stands, place, n, stands);
	stand_ins_add(fixture->stands, place, n, stands);
	for (size_t i = 0; i < n; i++) {
		stand_ins_next(fixture->stands, block + i, stands[i]);
		n_found += stands[i] != 0;
	}
	return n_found;
}

static void test_the_first_file_stands_for_the_second(Fixture *fixture, const void *by_owner)
{
	(void)by_owner;
	stand_ins_begin(fixture->stands, 5, 1000);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, 0);
	g_assert_false(stand_ins_cover(fixture->stands, 0, 2));
	g_assert_cmpuint(stand_ins_end(fixture->stands, true), ==, 0);

	stand_ins_begin(fixture->stands, 6, 1000);
	stand_ins_next(fixture->stands, 0, 0);
	g_assert_cmpuint(add(fixture, 1, PLACE, N), ==, N);
	g_assert_false(stand_ins_cover(fixture->stands, 0, 2));
	g_assert_true(stand_ins_cover(fixture->stands, 1, 2));
	g_assert_false(stand_ins_cover_run(fixture->stands, 0));
	g_assert_cmpuint(stand_ins_end(fixture->stands, true), ==, 5);
}

static void test_a_file_stands_for_its_own_repetition(Fixture *fixture, const void *by_owner)
{
	(void)by_owner;
	stand_ins_begin(fixture->stands, 5, 1000);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, 0);
	g_assert_cmpuint(add(fixture, N, PLACE, N), ==, N);
	g_assert_true(stand_ins_cover(fixture->stands, N, 2));
	/* The one anchor over both begins with a block that has none. */
	g_assert_false(stand_ins_cover(fixture->stands, N - 1, 2));
	g_assert_cmpuint(stand_ins_end(fixture->stands, true), ==, 0);
}

static void test_what_was_given_up_stands_for_nothing(Fixture *fixture, const void *by_owner)
{
	(void)by_owner;
	stand_ins_begin(fixture->stands, 5, 1000);
	add(fixture, 0, PLACE, N);
	stand_ins_end(fixture->stands, false);

	stand_ins_begin(fixture->stands, 6, 1000);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, 0);
	g_assert_cmpuint(stand_ins_end(fixture->stands, true), ==, 0);

	stand_ins_begin(fixture->stands, 7, 1000);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, N);
	g_assert_true(stand_ins_cover(fixture->stands, 0, 2));
	g_assert_cmpuint(stand_ins_end(fixture->stands, true), ==, 6);
}

static void test_several_files_stand_for_one(Fixture *fixture, const void *by_owner)
{
	(void)by_owner;
	stand_ins_begin(fixture->stands, 5, 1000);
	add(fixture, 0, PLACE, N / 2);
	stand_ins_end(fixture->stands, true);
	stand_ins_begin(fixture->stands, 6, 1000);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, N / 2);
	stand_ins_end(fixture->stands, true);

	stand_ins_begin(fixture->stands, 7, 1000);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, N);
	for (uint64_t i = 0; i < N - 1; i++)
		g_assert_true(stand_ins_cover(fixture->stands, i, 2));
	g_assert_true(stand_ins_cover_run(fixture->stands, 0));
	g_assert_cmpuint(stand_ins_end(fixture->stands, true), ==, UINT32_MAX);
}

static void test_owners_do_not_stand_for_each_other(Fixture *fixture, const void *by_owner)
{
	(void)by_owner;
	stand_ins_begin(fixture->stands, 5, 1000);
	add(fixture, 0, PLACE, N);
	stand_ins_end(fixture->stands, true);
	stand_ins_begin(fixture->stands, 6, 1001);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, 0);
	stand_ins_end(fixture->stands, true);
	stand_ins_begin(fixture->stands, 7, 1001);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, N);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/stand-ins/the-first-file-stands-for-the-second", Fixture, NULL, set_up,
		   test_the_first_file_stands_for_the_second, tear_down);
	g_test_add("/stand-ins/a-file-stands-for-its-own-repetition", Fixture, NULL, set_up,
		   test_a_file_stands_for_its_own_repetition, tear_down);
	g_test_add("/stand-ins/what-was-given-up-stands-for-nothing", Fixture, NULL, set_up,
		   test_what_was_given_up_stands_for_nothing, tear_down);
	g_test_add("/stand-ins/several-files-stand-for-one", Fixture, NULL, set_up,
		   test_several_files_stand_for_one, tear_down);
	g_test_add("/stand-ins/owners-do-not-stand-for-each-other", Fixture, "by-owner", set_up,
		   test_owners_do_not_stand_for_each_other, tear_down);
	return g_test_run();
}
