/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/extent-cover.h"

#include "hashstore/hash-store.h"
#include "tests/unit/fake-btrfs.h"

#include <string.h>

#define BLOCK      UINT64_C(4096)
#define NODE_BYTES 65536 /* so that one item holds all sums of an extent */
#define BLOCKS_MAX UINT64_C(10000)

enum { TARGET, FIRST, SECOND, N_EXTENTS };

/* Three extents whose sums are told one from another, with a cover of the first of them. */
typedef struct {
	uint32_t *sums[N_EXTENTS];
	FakeItem items[N_EXTENTS];
	uint64_t blocks[N_EXTENTS];
	ExtentSums *read;
	ExtentCover *cover;
} Fixture;

static uint64_t address(int extent)
{
	return ((uint64_t)extent + 1) << 30;
}

static Fixture *fixture_new(uint64_t target_blocks, uint64_t first_blocks, uint64_t second_blocks)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	const BtrfsInfo info = {
		.checksum = BTRFS_CHECKSUM_CRC32C,
		.sum_bytes = 4,
		.sector_bytes = BLOCK,
		.node_bytes = NODE_BYTES,
	};
	Fixture *fixture = g_new0(Fixture, 1);

	fixture->blocks[TARGET] = target_blocks;
	fixture->blocks[FIRST] = first_blocks;
	fixture->blocks[SECOND] = second_blocks;
	for (int i = 0; i < N_EXTENTS; i++) {
		g_assert_cmpuint(fixture->blocks[i], <=, BLOCKS_MAX);
		fixture->sums[i] = g_new0(uint32_t, fixture->blocks[i] + 1);
		for (uint64_t block = 0; block < fixture->blocks[i]; block++)
			fixture->sums[i][block] = (uint32_t)((i + 1) * BLOCKS_MAX + block);
		fixture->items[i] = (FakeItem){
			.tree = BTRFS_CSUM_TREE_OBJECTID,
			.key = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, address(i) },
			.data = fixture->sums[i],
			.length = (uint32_t)fixture->blocks[i] * 4,
		};
	}
	*fake_btrfs() = (FakeBtrfs){ .items = fixture->items, .n_items = N_EXTENTS };
	fixture->read = extent_sums_new(FAKE_BTRFS_FD, &info, secret);
	fixture->cover = extent_cover_new(fixture->read, BLOCK);
	return fixture;
}

static void fixture_free(Fixture *fixture)
{
	extent_cover_free(fixture->cover);
	extent_sums_free(fixture->read);
	for (int i = 0; i < N_EXTENTS; i++)
		g_free(fixture->sums[i]);
	g_free(fixture);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fixture, fixture_free)

/* @blocks blocks of the target, from @at on, are those of a source from @source_at on. */
static void make_equal(Fixture *fixture, uint64_t at, int source, uint64_t source_at,
		       uint64_t blocks)
{
	memcpy(fixture->sums[TARGET] + at, fixture->sums[source] + source_at, blocks * 4);
}

static void begin(Fixture *fixture)
{
	g_autoptr(GError) error = NULL;

	extent_sums_forget(fixture->read);
	g_assert_true(extent_cover_begin(fixture->cover, address(TARGET), fixture->blocks[TARGET],
					 &error));
	g_assert_no_error(error);
}

/* Add the source by a run of 4 blocks at @at; files show [@shown_first, @shown_end) of it. */
static void add_shown(Fixture *fixture, int source, uint64_t at, uint64_t source_at,
		      uint64_t shown_first, uint64_t shown_end)
{
	const CoverRange shown = { shown_first, shown_end };
	const CoverSource by = { (uint32_t)source, address(source), fixture->blocks[source], &shown,
				 1 };
	const Run run = {
		.target_rank = TARGET,
		.target_block = at,
		.source_block = source_at,
		.blocks = 4,
		.source = (uint32_t)source,
	};
	g_autoptr(GError) error = NULL;

	g_assert_true(extent_cover_add(fixture->cover, &run, &by, COVER_LEAST_BLOCKS, &error));
	g_assert_no_error(error);
}

static void add(Fixture *fixture, int source, uint64_t at, uint64_t source_at)
{
	add_shown(fixture, source, at, source_at, 0, fixture->blocks[source]);
}

/* [@first, @end) is covered, and neither the block before nor the one behind. */
static void assert_covers_just(Fixture *fixture, uint64_t first, uint64_t end)
{
	g_assert_true(extent_cover_has(fixture->cover, first, end));
	if (first > 0)
		g_assert_false(extent_cover_has(fixture->cover, first - 1, first));
	if (end < fixture->blocks[TARGET])
		g_assert_false(extent_cover_has(fixture->cover, end, end + 1));
}

static void assert_piece(Fixture *fixture, uint64_t at, uint64_t end, int source,
			 uint64_t source_at)
{
	CoverPiece piece = extent_cover_piece(fixture->cover, at, fixture->blocks[TARGET]);

	g_assert_cmpuint(piece.first, ==, at);
	g_assert_cmpuint(piece.blocks, ==, end - at);
	g_assert_cmpuint(piece.source, ==, source);
	g_assert_cmpuint(at - piece.diagonal, ==, source_at);
}

static void test_a_run_is_followed_both_ways_to_where_equality_ends(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 200, 1);

	make_equal(fixture, 10, FIRST, 110, 50);
	begin(fixture);
	g_assert_false(extent_cover_has(fixture->cover, 0, 1));
	add(fixture, FIRST, 30, 130);
	assert_covers_just(fixture, 10, 60);
	assert_piece(fixture, 10, 60, FIRST, 110);
	assert_piece(fixture, 20, 60, FIRST, 120);
}

static void test_a_run_is_followed_far_beyond_the_first_window(void)
{
	g_autoptr(Fixture) fixture = fixture_new(BLOCKS_MAX, BLOCKS_MAX, 1);

	make_equal(fixture, 1000, FIRST, 500, 8000);
	begin(fixture);
	add(fixture, FIRST, 5000, 4500);
	assert_covers_just(fixture, 1000, 9000);
}

static void test_a_run_ends_at_the_ends_of_either_extent(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 60, 200);

	make_equal(fixture, 20, FIRST, 0, 60);
	begin(fixture);
	add(fixture, FIRST, 40, 20);
	assert_covers_just(fixture, 20, 80);

	make_equal(fixture, 0, SECOND, 50, 100);
	begin(fixture);
	add(fixture, SECOND, 40, 90);
	g_assert_true(extent_cover_has(fixture->cover, 0, 100));
	g_assert_false(extent_cover_has(fixture->cover, 0, 101));
}

static void test_a_run_outside_its_extents_covers_nothing(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 60, 200);

	begin(fixture);
	add(fixture, FIRST, 99, 10);
	add(fixture, FIRST, 100, 10);
	add(fixture, SECOND, 200, 10);
	for (uint64_t block = 0; block < 100; block++)
		g_assert_false(extent_cover_has(fixture->cover, block, block + 1));
}

static void test_stretches_shorter_than_three_blocks_say_nothing(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 100, 1);

	make_equal(fixture, 10, FIRST, 10, 2);
	make_equal(fixture, 20, FIRST, 20, 3);
	make_equal(fixture, 30, FIRST, 30, 1);
	begin(fixture);
	add(fixture, FIRST, 20, 20);
	assert_covers_just(fixture, 20, 23);
	g_assert_false(extent_cover_has(fixture->cover, 10, 11));
	g_assert_false(extent_cover_has(fixture->cover, 30, 31));
}

static void test_a_block_belongs_to_the_first_source_that_has_it(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 200, 200);

	make_equal(fixture, 10, FIRST, 110, 50);
	make_equal(fixture, 60, SECOND, 60, 30);
	memcpy(fixture->sums[SECOND] + 40, fixture->sums[TARGET] + 40, (size_t)20 * 4);
	begin(fixture);
	add(fixture, FIRST, 30, 130);
	add(fixture, SECOND, 70, 70);
	assert_covers_just(fixture, 10, 90);
	assert_piece(fixture, 10, 60, FIRST, 110);
	assert_piece(fixture, 60, 90, SECOND, 60);

	begin(fixture);
	add(fixture, SECOND, 70, 70);
	add(fixture, FIRST, 30, 130);
	assert_piece(fixture, 10, 40, FIRST, 110);
	assert_piece(fixture, 40, 90, SECOND, 40);
}

static void test_a_piece_ends_where_it_is_asked_to(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 100, 1);
	CoverPiece piece;

	make_equal(fixture, 0, FIRST, 0, 100);
	begin(fixture);
	add(fixture, FIRST, 10, 10);
	piece = extent_cover_piece(fixture->cover, 20, 30);
	g_assert_cmpuint(piece.first, ==, 20);
	g_assert_cmpuint(piece.blocks, ==, 10);
	g_assert_cmpuint(piece.diagonal, ==, 0);
	g_assert_false(piece.is_whole);
}

static void test_blocks_without_sums_equal_nothing(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 100, 1);

	make_equal(fixture, 0, FIRST, 0, 100);
	fixture->items[TARGET].length = 50 * 4;
	fixture->items[FIRST].length = 40 * 4;
	begin(fixture);
	add(fixture, FIRST, 10, 10);
	assert_covers_just(fixture, 0, 40);

	fixture->items[FIRST].length = 100 * 4;
	begin(fixture);
	add(fixture, FIRST, 60, 60);
	add(fixture, FIRST, 10, 10);
	assert_covers_just(fixture, 0, 50);
}

static void test_what_no_file_shows_covers_nothing(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 200, 1);

	make_equal(fixture, 0, FIRST, 100, 100);
	begin(fixture);
	add_shown(fixture, FIRST, 30, 130, 0, 100);
	g_assert_false(extent_cover_has(fixture->cover, 0, 1));
	add_shown(fixture, FIRST, 30, 130, 90, 120);
	assert_covers_just(fixture, 0, 20);
	add_shown(fixture, FIRST, 30, 130, 150, 152);
	assert_covers_just(fixture, 50, 52);
}

static void test_a_whole_source_covers_what_is_left(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 100, 100);
	const CoverRange shown[] = { { 0, 60 }, { 80, 100 } };
	const CoverSource whole = { SECOND, address(SECOND), 100, shown, G_N_ELEMENTS(shown) };

	make_equal(fixture, 0, FIRST, 0, 30);
	begin(fixture);
	add(fixture, FIRST, 10, 10);
	extent_cover_add_whole(fixture->cover, &whole);
	assert_covers_just(fixture, 0, 60);
	assert_covers_just(fixture, 80, 100);
	assert_piece(fixture, 0, 30, FIRST, 0);
	assert_piece(fixture, 30, 60, SECOND, 30);
	g_assert_true(extent_cover_piece(fixture->cover, 30, 100).is_whole);
}

static void make_zeros(Fixture *fixture, uint64_t at, uint64_t blocks)
{
	uint8_t sum[BTRFS_SUM_BYTES_MAX];

	g_assert_true(btrfs_checksum_of_zeros(BTRFS_CHECKSUM_CRC32C, BLOCK, sum));
	for (uint64_t block = at; block < at + blocks; block++)
		memcpy(&fixture->sums[TARGET][block], sum, sizeof(uint32_t));
}

static void test_a_hole_covers_all_blocks_of_zeros(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 1, 1);

	make_zeros(fixture, 10, 30);
	make_zeros(fixture, 50, 1);
	make_zeros(fixture, 99, 1);
	begin(fixture);
	g_assert_false(extent_cover_has(fixture->cover, 10, 11));
	extent_cover_add_hole(fixture->cover);
	assert_covers_just(fixture, 10, 40);
	assert_covers_just(fixture, 50, 51);
	assert_covers_just(fixture, 99, 100);
	assert_piece(fixture, 10, 40, RUN_HOLE, 10);
	assert_piece(fixture, 20, 40, RUN_HOLE, 20);
	extent_cover_remove_zeros(fixture->cover);
	for (uint64_t block = 0; block < 100; block++)
		g_assert_false(extent_cover_has(fixture->cover, block, block + 1));
}

static void test_a_hole_leaves_zeros_to_sources_that_have_them(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 100, 1);

	make_zeros(fixture, 20, 60);
	memcpy(fixture->sums[FIRST], fixture->sums[TARGET], 50 * sizeof(uint32_t));
	begin(fixture);
	add(fixture, FIRST, 30, 30);
	extent_cover_add_hole(fixture->cover);
	assert_covers_just(fixture, 0, 80);
	assert_piece(fixture, 0, 50, FIRST, 0);
	assert_piece(fixture, 50, 80, RUN_HOLE, 50);
	extent_cover_remove_zeros(fixture->cover);
	assert_covers_just(fixture, 0, 50);
}

static void test_zeros_cover_what_a_hole_would_as_often_as_it_takes(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 100, 1);
	const CoverRange zeros = { 5, 13 };

	make_zeros(fixture, 20, 60);
	memcpy(fixture->sums[FIRST], fixture->sums[TARGET], 50 * sizeof(uint32_t));
	begin(fixture);
	add(fixture, FIRST, 30, 30);
	extent_cover_add_zeros(fixture->cover, SECOND, &zeros);
	assert_covers_just(fixture, 0, 80);
	assert_piece(fixture, 0, 50, FIRST, 0);
	for (uint64_t block = 50; block < 80; block += 8) {
		assert_piece(fixture, block, MIN(block + 8, 80), SECOND, 5);
		g_assert_true(extent_cover_piece(fixture->cover, block, 100).is_zeros);
	}
	g_assert_false(extent_cover_piece(fixture->cover, 0, 100).is_zeros);
	extent_cover_remove_zeros(fixture->cover);
	assert_covers_just(fixture, 0, 50);
}

static void test_a_hole_covers_nothing_that_has_no_sum(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 1, 1);

	make_zeros(fixture, 0, 100);
	fixture->items[TARGET].length = 40 * 4;
	begin(fixture);
	extent_cover_add_hole(fixture->cover);
	assert_covers_just(fixture, 0, 40);
}

static void test_a_hole_covers_nothing_where_the_sum_of_zeros_is_not_known(void)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	const BtrfsInfo unknown = {
		.checksum = BTRFS_CHECKSUM_UNKNOWN,
		.sum_bytes = 4,
		.sector_bytes = BLOCK,
		.node_bytes = NODE_BYTES,
	};
	g_autoptr(Fixture) fixture = fixture_new(100, 1, 1);

	extent_cover_free(fixture->cover);
	extent_sums_free(fixture->read);
	fixture->read = extent_sums_new(FAKE_BTRFS_FD, &unknown, secret);
	fixture->cover = extent_cover_new(fixture->read, BLOCK);
	make_zeros(fixture, 0, 50);
	fixture->items[TARGET].length = 80 * 4;
	begin(fixture);
	extent_cover_add_hole(fixture->cover);
	for (uint64_t block = 0; block < 100; block++)
		g_assert_false(extent_cover_has(fixture->cover, block, block + 1));
}

/* Both lack a block of the target every 20 blocks, the second one 10 blocks behind the first. */
static void make_copies(Fixture *fixture)
{
	make_equal(fixture, 0, FIRST, 0, 100);
	memcpy(fixture->sums[SECOND], fixture->sums[FIRST], 100 * 4);
	for (uint64_t block = 10; block < 100; block += 20) {
		fixture->sums[FIRST][block] ^= 1;
		fixture->sums[SECOND][block + 5] ^= 1;
	}
	begin(fixture);
	extent_cover_begin_join(fixture->cover);
	add(fixture, FIRST, 0, 0);
	add(fixture, SECOND, 0, 0);
}

static void test_copies_are_joined_to_as_few_pieces_as_they_can(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 100, 100);

	make_copies(fixture);
	g_assert_true(extent_cover_has(fixture->cover, 0, 100));
	g_assert_cmpuint(extent_cover_pieces(fixture->cover), ==, 11);
	g_assert_cmpuint(extent_cover_shortest(fixture->cover), ==, 1);
	extent_cover_join(fixture->cover);
	g_assert_true(extent_cover_has(fixture->cover, 0, 100));
	g_assert_cmpuint(extent_cover_pieces(fixture->cover), ==, 10);
	g_assert_cmpuint(extent_cover_shortest(fixture->cover), ==, 5);
	assert_piece(fixture, 0, 15, SECOND, 0);
	assert_piece(fixture, 15, 30, FIRST, 15);
	assert_piece(fixture, 30, 35, SECOND, 30);
}

static void test_what_was_taken_back_is_left_out_when_pieces_are_joined(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 100, 100);

	make_copies(fixture);
	/* The block 8 belongs to the first one. */
	g_assert_true(extent_cover_added(fixture->cover, 8));
	g_assert_false(extent_cover_added(fixture->cover, 15));
	extent_cover_take_back(fixture->cover, 8);
	g_assert_false(extent_cover_added(fixture->cover, 8));
	g_assert_true(extent_cover_has(fixture->cover, 8, 9));
	extent_cover_join(fixture->cover);
	assert_piece(fixture, 0, 10, FIRST, 0);
}

static void test_what_was_taken_back_of_its_owner_is_not_covered(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 100, 100);

	make_copies(fixture);
	extent_cover_take_back(fixture->cover, 10);
	g_assert_false(extent_cover_has(fixture->cover, 10, 11));
	extent_cover_join(fixture->cover);
	g_assert_false(extent_cover_has(fixture->cover, 10, 11));
}

static void test_a_new_target_begins_with_nothing_covered(void)
{
	g_autoptr(Fixture) fixture = fixture_new(100, 100, 1);

	make_equal(fixture, 0, FIRST, 0, 100);
	begin(fixture);
	add(fixture, FIRST, 10, 10);
	g_assert_true(extent_cover_has(fixture->cover, 0, 100));
	begin(fixture);
	for (uint64_t block = 0; block < 100; block++)
		g_assert_false(extent_cover_has(fixture->cover, block, block + 1));
}

int main(int argc, char *argv[])
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/extent-cover/a-run-is-followed-both-ways-to-where-equality-ends",
			test_a_run_is_followed_both_ways_to_where_equality_ends);
	g_test_add_func("/extent-cover/a-run-is-followed-far-beyond-the-first-window",
			test_a_run_is_followed_far_beyond_the_first_window);
	g_test_add_func("/extent-cover/a-run-ends-at-the-ends-of-either-extent",
			test_a_run_ends_at_the_ends_of_either_extent);
	g_test_add_func("/extent-cover/a-run-outside-its-extents-covers-nothing",
			test_a_run_outside_its_extents_covers_nothing);
	g_test_add_func("/extent-cover/stretches-shorter-than-three-blocks-say-nothing",
			test_stretches_shorter_than_three_blocks_say_nothing);
	g_test_add_func("/extent-cover/a-block-belongs-to-the-first-source-that-has-it",
			test_a_block_belongs_to_the_first_source_that_has_it);
	g_test_add_func("/extent-cover/a-piece-ends-where-it-is-asked-to",
			test_a_piece_ends_where_it_is_asked_to);
	g_test_add_func("/extent-cover/blocks-without-sums-equal-nothing",
			test_blocks_without_sums_equal_nothing);
	g_test_add_func("/extent-cover/what-no-file-shows-covers-nothing",
			test_what_no_file_shows_covers_nothing);
	g_test_add_func("/extent-cover/a-whole-source-covers-what-is-left",
			test_a_whole_source_covers_what_is_left);
	g_test_add_func("/extent-cover/a-hole-covers-all-blocks-of-zeros",
			test_a_hole_covers_all_blocks_of_zeros);
	g_test_add_func("/extent-cover/a-hole-leaves-zeros-to-sources-that-have-them",
			test_a_hole_leaves_zeros_to_sources_that_have_them);
	g_test_add_func("/extent-cover/a-hole-covers-nothing-that-has-no-sum",
			test_a_hole_covers_nothing_that_has_no_sum);
	g_test_add_func("/extent-cover/zeros-cover-what-a-hole-would-as-often-as-it-takes",
			test_zeros_cover_what_a_hole_would_as_often_as_it_takes);
	g_test_add_func("/extent-cover/a-hole-covers-nothing-where-the-sum-of-zeros-is-not-known",
			test_a_hole_covers_nothing_where_the_sum_of_zeros_is_not_known);
	g_test_add_func("/extent-cover/copies-are-joined-to-as-few-pieces-as-they-can",
			test_copies_are_joined_to_as_few_pieces_as_they_can);
	g_test_add_func("/extent-cover/what-was-taken-back-is-left-out-when-pieces-are-joined",
			test_what_was_taken_back_is_left_out_when_pieces_are_joined);
	g_test_add_func("/extent-cover/what-was-taken-back-of-its-owner-is-not-covered",
			test_what_was_taken_back_of_its_owner_is_not_covered);
	g_test_add_func("/extent-cover/a-new-target-begins-with-nothing-covered",
			test_a_new_target_begins_with_nothing_covered);
	return g_test_run();
}
