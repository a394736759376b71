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
	g_assert_cmpuint(stand_ins_stand(fixture->stands), ==, 0);

	stand_ins_begin(fixture->stands, 6, 1000);
	stand_ins_next(fixture->stands, 0, 0);
	g_assert_cmpuint(add(fixture, 1, PLACE, N), ==, N);
	g_assert_false(stand_ins_cover(fixture->stands, 0, 2));
	g_assert_true(stand_ins_cover(fixture->stands, 1, 2));
	g_assert_false(stand_ins_cover_run(fixture->stands, 0));
	g_assert_cmpuint(stand_ins_stand(fixture->stands), ==, 5);
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
	g_assert_cmpuint(stand_ins_stand(fixture->stands), ==, 0);
}

static void test_what_was_given_up_stands_for_nothing(Fixture *fixture, const void *by_owner)
{
	(void)by_owner;
	stand_ins_begin(fixture->stands, 5, 1000);
	add(fixture, 0, PLACE, N);
	stand_ins_give_up(fixture->stands);

	stand_ins_begin(fixture->stands, 6, 1000);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, 0);
	g_assert_cmpuint(stand_ins_stand(fixture->stands), ==, 0);

	stand_ins_begin(fixture->stands, 7, 1000);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, N);
	g_assert_true(stand_ins_cover(fixture->stands, 0, 2));
	g_assert_cmpuint(stand_ins_stand(fixture->stands), ==, 6);
}

static void test_several_files_stand_for_one(Fixture *fixture, const void *by_owner)
{
	(void)by_owner;
	stand_ins_begin(fixture->stands, 5, 1000);
	add(fixture, 0, PLACE, N / 2);
	stand_ins_begin(fixture->stands, 6, 1000);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, N / 2);

	stand_ins_begin(fixture->stands, 7, 1000);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, N);
	for (uint64_t i = 0; i < N - 1; i++)
		g_assert_true(stand_ins_cover(fixture->stands, i, 2));
	g_assert_true(stand_ins_cover_run(fixture->stands, 0));
	g_assert_cmpuint(stand_ins_stand(fixture->stands), ==, UINT32_MAX);
}

static void test_owners_do_not_stand_for_each_other(Fixture *fixture, const void *by_owner)
{
	(void)by_owner;
	stand_ins_begin(fixture->stands, 5, 1000);
	add(fixture, 0, PLACE, N);
	stand_ins_begin(fixture->stands, 6, 1001);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, 0);
	stand_ins_begin(fixture->stands, 7, 1001);
	g_assert_cmpuint(add(fixture, 0, PLACE, N), ==, N);
}

/* Nothing that was learned of the previous file holds for the next one. */
static void test_each_file_begins_without_stand_ins(Fixture *fixture, const void *by_owner)
{
	(void)by_owner;
	stand_ins_begin(fixture->stands, 5, 1000);
	add(fixture, 0, PLACE, N);
	stand_ins_next(fixture->stands, N, 0);
	g_assert_false(stand_ins_cover_run(fixture->stands, N));

	stand_ins_begin(fixture->stands, 6, 1000);
	add(fixture, 0, PLACE, N);
	g_assert_true(stand_ins_cover_run(fixture->stands, 0));
	g_assert_cmpuint(stand_ins_stand(fixture->stands), ==, UINT32_MAX);

	stand_ins_begin(fixture->stands, 7, 1000);
	for (uint64_t block = 0; block < N; block++)
		g_assert_false(stand_ins_cover(fixture->stands, block, 1));
	g_assert_cmpuint(stand_ins_stand(fixture->stands), ==, 0);
}

static void test_a_block_replaces_the_one_128_blocks_before(Fixture *fixture, const void *by_owner)
{
	(void)by_owner;
	stand_ins_begin(fixture->stands, 5, 1000);
	for (uint64_t block = 0; block < 128; block++)
		stand_ins_next(fixture->stands, block, 3);
	g_assert_true(stand_ins_cover(fixture->stands, 0, 128));
	stand_ins_next(fixture->stands, 128, 0);
	g_assert_false(stand_ins_cover(fixture->stands, 128, 1));
	g_assert_false(stand_ins_cover(fixture->stands, 1, 128));
	g_assert_true(stand_ins_cover(fixture->stands, 1, 127));
	g_assert_false(stand_ins_cover_run(fixture->stands, 128));
	stand_ins_next(fixture->stands, 129, 3);
	g_assert_false(stand_ins_cover_run(fixture->stands, 128));
	g_assert_cmpuint(stand_ins_stand(fixture->stands), ==, 3);
	stand_ins_begin(fixture->stands, 6, 1000);
	stand_ins_next(fixture->stands, 0, 0);
	stand_ins_next(fixture->stands, 1, 3);
	g_assert_true(stand_ins_cover_run(fixture->stands, 1));
}

/* The stand-in of the block at @place; 0: none. */
static uint32_t stand_of(Fixture *fixture, uint64_t place)
{
	uint32_t stand;

	stand_ins_look_up(fixture->stands, place, 1, &stand);
	return stand;
}

/* Files that were not begun have no known owner: those of earlier passes, and later ones. */
static void test_an_owner_is_known_only_of_files_that_were_begun(Fixture *fixture,
								 const void *by_owner)
{
	const uint64_t of_4 = PLACE, of_7 = PLACE + BLOCK, of_9 = PLACE + 2 * BLOCK;

	(void)by_owner;
	sum_cache_put_object(fixture->cache, of_4, 4, 1);
	sum_cache_put_object(fixture->cache, of_7, 7, 1);
	sum_cache_put_object(fixture->cache, of_9, 9, 1);
	stand_ins_begin(fixture->stands, 5, 0);
	stand_ins_begin(fixture->stands, 8, 0);
	g_assert_cmpuint(stand_of(fixture, of_4), ==, 0);
	g_assert_cmpuint(stand_of(fixture, of_9), ==, 0);
	stand_ins_begin(fixture->stands, 9, 1000);
	g_assert_cmpuint(stand_of(fixture, of_7), ==, 0);
	g_assert_cmpuint(stand_of(fixture, of_9), ==, 9);
	stand_ins_begin(fixture->stands, 8, 1000);
	g_assert_cmpuint(stand_of(fixture, of_9), ==, 9);
	stand_ins_begin(fixture->stands, 8, 1001);
	g_assert_cmpuint(stand_of(fixture, of_9), ==, 0);
	/* An earlier pass began to read this one, which stands in for itself. */
	stand_ins_begin(fixture->stands, 4, 1000);
	g_assert_cmpuint(stand_of(fixture, of_4), ==, 4);
	g_assert_cmpuint(stand_of(fixture, of_9), ==, 9);
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
	g_test_add("/stand-ins/each-file-begins-without-stand-ins", Fixture, NULL, set_up,
		   test_each_file_begins_without_stand_ins, tear_down);
	g_test_add("/stand-ins/a-block-replaces-the-one-128-blocks-before", Fixture, NULL, set_up,
		   test_a_block_replaces_the_one_128_blocks_before, tear_down);
	g_test_add("/stand-ins/an-owner-is-known-only-of-files-that-were-begun", Fixture,
		   "by-owner", set_up, test_an_owner_is_known_only_of_files_that_were_begun,
		   tear_down);
	return g_test_run();
}
