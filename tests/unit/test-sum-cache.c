/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/sum-cache.h"
#include "tests/unit/scratch.h"

#include <signal.h>
#include <sys/resource.h>

#define BLOCK     UINT64_C(4096)
#define MAX_BYTES (UINT64_C(1) << 20)

/* The capacity of the cache in blocks; a group is evicted as a whole. */
#define GROUP  256
#define PLACES (MAX_BYTES / (GROUP * (sizeof(uint64_t) + sizeof(uint32_t))) * GROUP)

static const uint64_t sums[] = { 11, 22, 33, 44, UINT64_MAX };

static void assert_known(SumCache *cache, uint64_t physical, const uint64_t *expected, size_t n)
{
	uint64_t found[8] = { 0 };
	bool is_known = false;

	g_assert_cmpuint(sum_cache_get(cache, physical, found, n, &is_known), ==, n);
	g_assert_true(is_known);
	g_assert_cmpmem(found, n * sizeof(found[0]), expected, n * sizeof(expected[0]));
}

static void assert_unknown(SumCache *cache, uint64_t physical, size_t n)
{
	uint64_t found[8];
	bool is_known = true;

	g_assert_cmpuint(sum_cache_get(cache, physical, found, n, &is_known), ==, n);
	g_assert_false(is_known);
}

static void test_what_was_put_is_known(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK, MAX_BYTES);

	sum_cache_put(cache, 100 * BLOCK, sums, 5);
	assert_known(cache, 100 * BLOCK, sums, 5);
	/* A part of it, too. */
	assert_known(cache, 101 * BLOCK, sums + 1, 3);
	assert_known(cache, 104 * BLOCK, sums + 4, 1);
}

static void test_objects_are_known_until_they_are_pushed_out(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK, MAX_BYTES);
	const uint32_t expected[] = { 0, 7, 7, 9, 0 };
	const uint32_t none[] = { 0, 0, 0 };
	uint32_t found[5];

	sum_cache_put(cache, 254 * BLOCK, sums, 5);
	sum_cache_put_object(cache, 255 * BLOCK, 7, 3);
	sum_cache_put_object(cache, 257 * BLOCK, 9, 1);
	sum_cache_get_objects(cache, 254 * BLOCK, found, 5);
	g_assert_cmpmem(found, sizeof(found), expected, sizeof(expected));

	/* Sums need not be known. */
	assert_unknown(cache, 400 * BLOCK, 1);
	sum_cache_put_object(cache, 400 * BLOCK, 7, 1);
	assert_unknown(cache, 400 * BLOCK, 1);
	sum_cache_get_objects(cache, 400 * BLOCK, found, 1);
	g_assert_cmpuint(found[0], ==, 7);

	/* They are evicted with the sums. */
	sum_cache_put(cache, (PLACES + 256) * BLOCK, sums, 1);
	sum_cache_get_objects(cache, 256 * BLOCK, found, 3);
	g_assert_cmpmem(found, sizeof(none), none, sizeof(none));
	sum_cache_get_objects(cache, (PLACES + 256) * BLOCK, found, 3);
	g_assert_cmpmem(found, sizeof(none), none, sizeof(none));
}

static void test_what_was_not_put_is_not_known(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK, MAX_BYTES);

	assert_unknown(cache, 100 * BLOCK, 1);
	sum_cache_put(cache, 100 * BLOCK, sums, 5);
	assert_unknown(cache, 99 * BLOCK, 1);
	assert_unknown(cache, 105 * BLOCK, 1);
	assert_unknown(cache, 0, 1);
	assert_unknown(cache, UINT64_C(1) << 50, 1);
}

/* The first @n of @n_asked blocks are alike. */
static void assert_alike(SumCache *cache, uint64_t block, size_t n_asked, size_t n, bool known)
{
	uint64_t found[8];
	bool is_known = !known;

	g_assert_cmpuint(sum_cache_get(cache, block * BLOCK, found, n_asked, &is_known), ==, n);
	g_assert_true(is_known == known);
}

static void test_what_is_known_in_part_is_told_apart(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK, MAX_BYTES);

	/* Also across the bound of two groups. */
	for (uint64_t first = 100; first <= GROUP - 3; first += GROUP - 103) {
		sum_cache_put(cache, first * BLOCK, sums, 2);
		sum_cache_put(cache, (first + 3) * BLOCK, sums, 2);
		assert_alike(cache, first - 1, 3, 1, false);
		assert_alike(cache, first, 5, 2, true);
		assert_alike(cache, first + 2, 3, 1, false);
		assert_alike(cache, first + 3, 5, 2, true);
		assert_alike(cache, first + 5, 5, 5, false);
		sum_cache_put(cache, (first + 2) * BLOCK, sums + 2, 1);
		assert_known(cache, first * BLOCK, (uint64_t[]){ 11, 22, 33, 11, 22 }, 5);
	}
}

static void test_what_has_no_place_pushes_older_out(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK, MAX_BYTES);

	sum_cache_put(cache, 10 * BLOCK, sums, 5);
	sum_cache_put(cache, (GROUP + 10) * BLOCK, sums, 5);
	sum_cache_put(cache, (3 * PLACES + 12) * BLOCK, sums, 2);
	/* All of the group, and nothing of the next. */
	assert_unknown(cache, 10 * BLOCK, 5);
	assert_known(cache, (GROUP + 10) * BLOCK, sums, 5);
	/* The new group shows no sums of the old one. */
	assert_alike(cache, 3 * PLACES + 10, 5, 2, false);
	assert_known(cache, (3 * PLACES + 12) * BLOCK, sums, 2);
	assert_unknown(cache, (3 * PLACES + 14) * BLOCK, 1);
	sum_cache_put(cache, 11 * BLOCK, sums, 1);
	assert_alike(cache, 10, 5, 1, false);
	assert_alike(cache, 11, 4, 1, true);
}

static void test_the_file_is_bounded(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK, MAX_BYTES);
	rlim_t most = MAX_BYTES;
	struct rlimit before, bounded;

	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
	bounded = (struct rlimit){ most, before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &bounded), ==, 0);
	for (uint64_t block = 0; block < 3 * PLACES; block += 5)
		sum_cache_put(cache, block * BLOCK, sums, 5);
	for (uint64_t block = 3 * PLACES - PLACES % 5 - 100; block + 5 < 3 * PLACES; block++)
		assert_alike(cache, block, 1, 1, true);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
}

static void test_what_is_put_again_is_replaced(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK, MAX_BYTES);

	sum_cache_put(cache, 0, sums, 2);
	sum_cache_put(cache, BLOCK, sums + 3, 1);
	assert_known(cache, 0, (uint64_t[]){ 11, 44 }, 2);
}

static void test_addresses_count_in_blocks_of_the_filesystem(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, 16384, MAX_BYTES);

	sum_cache_put(cache, 16384, sums, 2);
	assert_known(cache, 32768, sums + 1, 1);
	assert_unknown(cache, 49152, 1);
}

static void test_a_disk_of_a_petabyte_fits(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK, MAX_BYTES);
	uint64_t physical = (UINT64_C(1) << 50) + 5 * BLOCK;

	sum_cache_put(cache, physical, sums, 5);
	assert_known(cache, physical, sums, 5);
}

static void test_without_room_nothing_is_known(void)
{
	g_autoptr(SumCache) cache = sum_cache_new("/nowhere/at/all", BLOCK, MAX_BYTES);

	sum_cache_put(cache, 0, sums, 5);
	assert_unknown(cache, 0, 5);
	sum_cache_put(cache, 0, sums, 5);
	assert_unknown(cache, 0, 5);
}

static void test_nothing_is_left_behind(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(SumCache) cache = sum_cache_new(scratch->path, BLOCK, MAX_BYTES);
	g_autoptr(GDir) directory = NULL;

	sum_cache_put(cache, 0, sums, 5);
	directory = g_dir_open(scratch->path, 0, NULL);
	g_assert_null(g_dir_read_name(directory));
	sum_cache_free(NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/sum-cache/objects-are-known-until-they-are-pushed-out",
			test_objects_are_known_until_they_are_pushed_out);
	g_test_add_func("/sum-cache/what-was-put-is-known", test_what_was_put_is_known);
	g_test_add_func("/sum-cache/what-was-not-put-is-not-known",
			test_what_was_not_put_is_not_known);
	g_test_add_func("/sum-cache/what-is-known-in-part-is-told-apart",
			test_what_is_known_in_part_is_told_apart);
	g_test_add_func("/sum-cache/what-has-no-place-pushes-older-out",
			test_what_has_no_place_pushes_older_out);
	g_test_add_func("/sum-cache/the-file-is-bounded", test_the_file_is_bounded);
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
