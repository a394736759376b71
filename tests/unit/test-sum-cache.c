/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sum-cache.h"
#include "tests/unit/scratch.h"

#define BLOCK UINT64_C(4096)

static const uint64_t sums[] = { 11, 22, 33, 44, UINT64_MAX };

static void assert_known(SumCache *cache, uint64_t physical, const uint64_t *expected, size_t n)
{
	uint64_t found[8] = { 0 };

	g_assert_true(sum_cache_get(cache, physical, found, n));
	g_assert_cmpmem(found, n * sizeof(found[0]), expected, n * sizeof(expected[0]));
}

static void assert_unknown(SumCache *cache, uint64_t physical, size_t n)
{
	uint64_t found[8];

	g_assert_false(sum_cache_get(cache, physical, found, n));
}

static void test_what_was_put_is_known(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK);

	sum_cache_put(cache, 100 * BLOCK, sums, 5);
	assert_known(cache, 100 * BLOCK, sums, 5);
	/* A part of it, too. */
	assert_known(cache, 101 * BLOCK, sums + 1, 3);
	assert_known(cache, 104 * BLOCK, sums + 4, 1);
}

static void test_what_was_not_put_is_not_known(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK);

	assert_unknown(cache, 100 * BLOCK, 1);
	sum_cache_put(cache, 100 * BLOCK, sums, 5);
	assert_unknown(cache, 99 * BLOCK, 1);
	assert_unknown(cache, 105 * BLOCK, 1);
	assert_unknown(cache, 0, 1);
	assert_unknown(cache, UINT64_C(1) << 50, 1);
}

static void test_what_is_known_in_part_is_not_known(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK);

	sum_cache_put(cache, 100 * BLOCK, sums, 2);
	sum_cache_put(cache, 103 * BLOCK, sums, 2);
	assert_unknown(cache, 99 * BLOCK, 3);  /* the first is not */
	assert_unknown(cache, 100 * BLOCK, 5); /* one in the middle */
	assert_unknown(cache, 103 * BLOCK, 3); /* the last, where the file ends */
	sum_cache_put(cache, 102 * BLOCK, sums + 2, 1);
	assert_known(cache, 100 * BLOCK, (uint64_t[]){ 11, 22, 33, 11, 22 }, 5);
}

static void test_what_is_put_again_is_replaced(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK);

	sum_cache_put(cache, 0, sums, 2);
	sum_cache_put(cache, BLOCK, sums + 3, 1);
	assert_known(cache, 0, (uint64_t[]){ 11, 44 }, 2);
}

static void test_addresses_count_in_blocks_of_the_filesystem(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, 16384);

	sum_cache_put(cache, 16384, sums, 2);
	assert_known(cache, 32768, sums + 1, 1);
	assert_unknown(cache, 49152, 1);
}

static void test_a_disk_of_a_petabyte_fits(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK);
	uint64_t physical = (UINT64_C(1) << 50) + 5 * BLOCK;

	sum_cache_put(cache, physical, sums, 5);
	assert_known(cache, physical, sums, 5);
}

static void test_without_room_nothing_is_known(void)
{
	g_autoptr(SumCache) cache = sum_cache_new("/nowhere/at/all", BLOCK);

	sum_cache_put(cache, 0, sums, 5);
	assert_unknown(cache, 0, 5);
	sum_cache_put(cache, 0, sums, 5);
	assert_unknown(cache, 0, 5);
}

static void test_nothing_is_left_behind(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK);
	g_autoptr(GDir) directory = NULL;

	sum_cache_put(cache, 0, sums, 5);
	directory = g_dir_open(scratch->path, 0, NULL);
	g_assert_null(g_dir_read_name(directory));
	sum_cache_free(NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/sum-cache/what-was-put-is-known", test_what_was_put_is_known);
	g_test_add_func("/sum-cache/what-was-not-put-is-not-known",
			test_what_was_not_put_is_not_known);
	g_test_add_func("/sum-cache/what-is-known-in-part-is-not-known",
			test_what_is_known_in_part_is_not_known);
	g_test_add_func("/sum-cache/what-is-put-again-is-replaced",
			test_what_is_put_again_is_replaced);
	g_test_add_func("/sum-cache/addresses-count-in-blocks-of-the-filesystem",
			test_addresses_count_in_blocks_of_the_filesystem);
	g_test_add_func("/sum-cache/a-disk-of-a-petabyte-fits", test_a_disk_of_a_petabyte_fits);
	g_test_add_func("/sum-cache/without-room-nothing-is-known",
			test_without_room_nothing_is_known);
	g_test_add_func("/sum-cache/nothing-is-left-behind", test_nothing_is_left_behind);

	return g_test_run();
}
