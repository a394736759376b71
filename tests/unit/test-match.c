/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/run.h"
#include "daemon/match/match.h"
#include "hashstore/anchors/groups.h"
#include "tests/unit/pass-fixture.h"

#define K FIXTURE_ANCHOR_BLOCKS

typedef struct {
	uint32_t target;
	uint64_t target_block;
	uint32_t source;
	uint64_t source_block;
	uint64_t blocks;
} Expected;

/*
 * Put @n anchors with @digest and the following ones on blocks @first, @first + @step and so on of @object.
 */
static void put_anchors(PassFixture *fixture, uint64_t digest, uint32_t object, uint32_t first,
			uint32_t step, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		pass_fixture_put_anchor(fixture, digest + i, object, first + i * step);
}

static Sorter *match_with(PassFixture *fixture, ObjectTable *table, uint64_t *ret_blocks)
{
	g_autoptr(GError) error = NULL;
	Sorter *runs = sorter_new(sizeof(Run), run_compare, 1 << 20,
				  fixture->settings.state_directory, NULL);

	if (!match_all(&fixture->pass, table, fixture->opener, runs, ret_blocks, &error))
		g_error("%s", error->message);
	return runs;
}

/* The runs are these, in this order. */
static void check_runs(PassFixture *fixture, ObjectTable *table, const Expected *expected,
		       size_t n_expected)
{
	uint64_t blocks = 0, expected_blocks = 0;
	g_autoptr(Sorter) runs = match_with(fixture, table, &blocks);
	const Run *run;

	for (size_t i = 0; i < n_expected; i++) {
		g_assert_true(sorter_next(runs, (const void **)&run, NULL));
		g_assert_nonnull(run);
		g_assert_cmpuint(run_target(run), ==, expected[i].target);
		g_assert_cmpuint(run->target_rank, ==, object_table_rank(table, run_target(run)));
		g_assert_cmpuint(run->target_block, ==, expected[i].target_block);
		g_assert_cmpuint(run->source, ==, expected[i].source);
		if (run->source != RUN_HOLE)
			g_assert_cmpuint(run->source_class, ==,
					 object_table_rank(table, run->source) >> 32);
		g_assert_cmpuint(run->source_block, ==, expected[i].source_block);
		g_assert_cmpuint(run->blocks, ==, expected[i].blocks);
		expected_blocks += expected[i].blocks;
	}

	g_assert_true(sorter_next(runs, (const void **)&run, NULL));
	g_assert_null(run);
	g_assert_cmpuint(blocks, ==, expected_blocks);
}

static void check(PassFixture *fixture, const Expected *expected, size_t n_expected)
{
	g_autoptr(ObjectTable) table = pass_fixture_table(fixture);

	check_runs(fixture, table, expected, n_expected);
}

static void check_skip(const PassFixture *fixture, SkipReason reason, uint64_t count,
		       uint64_t blocks)
{
	const SkipEntry *entry = &fixture->result.skips.entries[reason];

	g_assert_cmpuint(entry->count, ==, count);
	g_assert_cmpuint(entry->bytes, ==, blocks * FIXTURE_BLOCK_BYTES);
	for (unsigned i = 0; i < MIN(count, SKIP_EXAMPLES); i++)
		g_assert_true(g_str_has_prefix(entry->examples[i], "?/object-"));
}

static void test_nothing_in_common_is_no_run(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t a = pass_fixture_put(fixture, 100, 0);
	uint32_t b = pass_fixture_put(fixture, 100, 0);

	put_anchors(fixture, 100, a, 0, 8, 5);
	put_anchors(fixture, 200, b, 0, 8, 5);
	check(fixture, NULL, 0);
}

static void test_anchors_on_one_diagonal_are_one_run(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t a = pass_fixture_put(fixture, 200, 0);
	uint32_t b = pass_fixture_put(fixture, 200, 0);

	put_anchors(fixture, 100, a, 50, 10, 5);
	put_anchors(fixture, 100, b, 7, 10, 5);
	check(fixture, &(Expected){ b, 7, a, 50, 40 + K }, 1);
}

static void test_a_single_anchor_is_a_run_of_its_blocks(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t a = pass_fixture_put(fixture, 200, 0);
	uint32_t b = pass_fixture_put(fixture, 200, 0);

	put_anchors(fixture, 100, a, 50, 0, 1);
	put_anchors(fixture, 100, b, 7, 0, 1);
	check(fixture, &(Expected){ b, 7, a, 50, K }, 1);
}

static void test_other_diagonals_are_other_runs(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t a = pass_fixture_put(fixture, 200, 0);
	uint32_t b = pass_fixture_put(fixture, 200, 0);

	/* A block was inserted in between. */
	put_anchors(fixture, 100, a, 0, 10, 6);
	put_anchors(fixture, 100, b, 0, 10, 3);
	put_anchors(fixture, 103, b, 31, 10, 3);
	check(fixture, (Expected[]){ { b, 0, a, 0, 20 + K }, { b, 31, a, 30, 20 + K } }, 2);
}

static void test_a_short_gap_is_bridged_and_a_long_one_is_not(void)
{
	static const struct {
		uint32_t gap;
		bool bridged;
	} cases[] = { { 1, true }, { 31, true }, { 32, true }, { 33, false }, { 5000, false } };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(PassFixture) fixture = pass_fixture_new();
		uint32_t a = pass_fixture_put(fixture, 9000, 0);
		uint32_t b = pass_fixture_put(fixture, 9000, 0);
		uint32_t next = K + cases[i].gap;

		put_anchors(fixture, 100, a, 0, 0, 1);
		put_anchors(fixture, 100, b, 0, 0, 1);
		put_anchors(fixture, 200, a, next, 0, 1);
		put_anchors(fixture, 200, b, next, 0, 1);
		if (cases[i].bridged)
			check(fixture, &(Expected){ b, 0, a, 0, next + K }, 1);
		else
			check(fixture, (Expected[]){ { b, 0, a, 0, K }, { b, next, a, next, K } },
			      2);
	}
}

static void test_equal_objects_are_one_run_over_all(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t a = pass_fixture_put(fixture, 1000, 0);
	uint32_t b = pass_fixture_put(fixture, 1000, 0);

	pass_fixture_put_anchor(fixture, 77, a, ANCHOR_WHOLE_BLOCK);
	pass_fixture_put_anchor(fixture, 77, b, ANCHOR_WHOLE_BLOCK);
	put_anchors(fixture, 100, a, 0, 400, 3);
	put_anchors(fixture, 100, b, 0, 400, 3);
	/* The digest of some blocks of another object may be the same by chance. */
	pass_fixture_put_anchor(fixture, 77, pass_fixture_put(fixture, 100, 0), 7);
	check(fixture, &(Expected){ b, 0, a, 0, 1000 }, 1);
}

static void test_a_whole_object_ends_with_its_last_part_of_a_block(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	const Object object = { .size_bytes = 3 * FIXTURE_BLOCK_BYTES + 1, .state = OBJECT_DONE };
	uint32_t a = pass_fixture_put_object(fixture, &object);
	uint32_t b = pass_fixture_put_object(fixture, &object);

	pass_fixture_put_anchor(fixture, 77, a, ANCHOR_WHOLE_BLOCK);
	pass_fixture_put_anchor(fixture, 77, b, ANCHOR_WHOLE_BLOCK);
	check(fixture, &(Expected){ b, 0, a, 0, 4 }, 1);
}

static void test_parts_of_one_object_are_shared_among_each_other(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t a = pass_fixture_put(fixture, 200, 0);

	put_anchors(fixture, 100, a, 0, 10, 3);
	put_anchors(fixture, 100, a, 90, 10, 3);
	check(fixture, &(Expected){ a, 90, a, 0, 20 + K }, 1);
}

static void test_no_position_is_paired_with_itself(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t a = pass_fixture_put(fixture, 200, 0);

	put_anchors(fixture, 100, a, 0, 10, 3);
	put_anchors(fixture, 100, a, 0, 10, 3);
	check(fixture, NULL, 0);
}

/* Each is paired with the first eight before it; of extents, also with those that have 8, 16 and so on before them. */
static void check_pairs_with_first(uint32_t n_members, RankBy by)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(GArray) expected = g_array_new(false, false, sizeof(Expected));
	g_autoptr(ObjectTable) table = NULL;

	for (uint32_t i = 0; i < n_members; i++) {
		uint32_t object = pass_fixture_put(fixture, 100, 0);

		put_anchors(fixture, 100, object, 4 * i, 0, 1);
		for (uint32_t j = 0; j < i; j = j < 8 ? j + 1 : 2 * j) {
			Expected run = { object, 4 * i, object - i + j, 4 * j, K };

			g_array_append_val(expected, run);
		}
	}

	fixture->result.found_by_checksums = by == RANK_BY_SIZE;
	g_assert_true(hash_store_commit(fixture->pass.store, NULL));
	table = object_table_new(fixture->pass.store, by, &fixture->settings, NULL, NULL);
	check_runs(fixture, table, (const Expected *)expected->data, expected->len);
	g_assert_cmpuint(fixture->result.shared.capped, ==, 0);
}

static void test_up_to_eight_members_are_paired_all_with_all(void)
{
	check_pairs_with_first(8, RANK_BY_GAIN);
}

static void test_extents_of_a_large_group_are_paired_with_eight_and_some_further_ones(void)
{
	check_pairs_with_first(20, RANK_BY_SIZE);
}

static void test_more_members_are_paired_with_the_first_and_the_one_before(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	Expected expected[15];
	size_t n = 0;
	uint32_t first = pass_fixture_put(fixture, 100, 0);

	put_anchors(fixture, 100, first, 5, 0, 1);
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t object = pass_fixture_put(fixture, 100, 0);

		put_anchors(fixture, 100, object, 10 * i, 0, 1);
		expected[n++] = (Expected){ object, 10 * i, first, 5, K };
		if (i > 0)
			expected[n++] = (Expected){ object, 10 * i, object - 1, 10 * (i - 1), K };
	}

	check(fixture, expected, n);
	g_assert_cmpuint(fixture->result.shared.capped, ==, 0);
}

static void test_members_that_come_again_are_paired_with_those_of_the_same_place(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t a = pass_fixture_put(fixture, 1000, OBJECT_SHARED);
	uint32_t b = pass_fixture_put(fixture, 1000, OBJECT_SHARED);
	uint32_t c = pass_fixture_put(fixture, 1000, 0);

	for (uint32_t i = 0; i < 4; i++) {
		pass_fixture_put_anchor(fixture, 100, a, 100 * i);
		if (i < 3)
			pass_fixture_put_anchor(fixture, 100, b, 100 * i + 7);
		pass_fixture_put_anchor(fixture, 100, c, 100 * i + 50);
	}

	check(fixture,
	      (Expected[]){
		      { a, 100, a, 0, K },
		      { a, 200, a, 0, K },
		      { a, 300, a, 0, K },
		      { b, 7, a, 0, K },
		      { b, 107, a, 0, K },
		      { b, 107, a, 100, K },
		      { b, 207, a, 0, K },
		      { b, 207, a, 200, K },
		      { c, 50, a, 0, K },
		      { c, 50, b, 7, K },
		      { c, 150, a, 0, K },
		      { c, 150, b, 107, K },
		      { c, 250, a, 0, K },
		      { c, 250, b, 207, K },
		      { c, 350, a, 0, K },
		      { c, 350, b, 207, K },
	      },
	      16);
}

static void test_members_beyond_the_largest_group_are_counted(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t first = pass_fixture_put(fixture, 100, 0);
	g_autoptr(ObjectTable) table = NULL;
	uint64_t blocks;

	for (uint32_t i = 0; i < GROUP_MEMBERS_MAX + 3; i++)
		pass_fixture_put_anchor(fixture, 100, first, i);
	table = pass_fixture_table(fixture);
	sorter_free(match_with(fixture, table, &blocks));
	g_assert_cmpuint(fixture->result.shared.capped, ==, 3);
}

static void test_whole_objects_are_paired_with_two_and_none_is_lost(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	Expected expected[40];
	size_t n = 0;
	uint32_t first = pass_fixture_put(fixture, 5, 0);

	pass_fixture_put_anchor(fixture, 77, first, ANCHOR_WHOLE_BLOCK);
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t object = pass_fixture_put(fixture, 5, 0);

		pass_fixture_put_anchor(fixture, 77, object, ANCHOR_WHOLE_BLOCK);
		expected[n++] = (Expected){ object, 0, first, 0, 5 };
		if (i > 0)
			expected[n++] = (Expected){ object, 0, object - 1, 0, 5 };
	}

	check(fixture, expected, n);
	g_assert_cmpuint(fixture->result.shared.capped, ==, 0);
}

static void test_files_that_are_to_be_identical_are_paired_with_the_first(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	Expected expected[6];
	uint32_t first = pass_fixture_put(fixture, 5, 0);

	fixture->settings.read = READ_POLICY_SAME_SIZE;
	pass_fixture_put_anchor(fixture, 77, first, ANCHOR_WHOLE_BLOCK);
	for (uint32_t i = 0; i < G_N_ELEMENTS(expected); i++) {
		uint32_t object = pass_fixture_put(fixture, 5, OBJECT_WHOLE);

		pass_fixture_put_anchor(fixture, 77, object, ANCHOR_WHOLE_BLOCK);
		expected[i] = (Expected){ object, 0, first, 0, 5 };
	}

	check(fixture, expected, G_N_ELEMENTS(expected));
	g_assert_cmpuint(fixture->result.sets, ==, 1);
}

static void test_what_has_most_in_common_is_the_source(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t small = pass_fixture_put(fixture, 200, 0);
	uint32_t large = pass_fixture_put(fixture, 200, 0);
	uint32_t other = pass_fixture_put(fixture, 200, 0);

	put_anchors(fixture, 100, small, 0, 0, 1);
	put_anchors(fixture, 100, large, 0, 10, 3);
	put_anchors(fixture, 101, other, 0, 10, 2);
	check(fixture, (Expected[]){ { other, 0, large, 10, 10 + K }, { small, 0, large, 0, K } },
	      2);
}

static void test_settled_objects_are_sources_only(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t old = pass_fixture_put(fixture, 200, 0);
	uint32_t older = pass_fixture_put(fixture, 200, 0);
	uint32_t new;

	put_anchors(fixture, 100, old, 0, 10, 3);
	put_anchors(fixture, 100, older, 0, 10, 3);
	pass_fixture_settle(fixture);
	new = pass_fixture_put(fixture, 200, 0);
	put_anchors(fixture, 100, new, 40, 10, 3);
	check(fixture, (Expected[]){ { new, 40, old, 0, 20 + K }, { new, 40, older, 0, 20 + K } },
	      2);
}

static void test_objects_outside_the_walk_are_sources_only(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t inside = pass_fixture_put(fixture, 200, 0);
	uint32_t outside = pass_fixture_put(fixture, 200, 0);
	uint32_t farther = pass_fixture_put(fixture, 200, 0);
	g_autoptr(ObjectTable) table = NULL;

	put_anchors(fixture, 100, inside, 0, 10, 3);
	put_anchors(fixture, 100, outside, 0, 10, 3);
	put_anchors(fixture, 100, farther, 0, 10, 3);
	table = pass_fixture_table(fixture);
	object_table_add_fact(table, outside, FACT_OUTSIDE);
	object_table_add_fact(table, farther, FACT_OUTSIDE);
	check_runs(fixture, table,
		   (Expected[]){ { inside, 0, outside, 0, 20 + K },
				 { inside, 0, farther, 0, 20 + K } },
		   2);
}

static void test_immutable_objects_are_sources_only_and_noted_once(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t plain = pass_fixture_put(fixture, 200, 0);
	uint32_t fixed = pass_fixture_put(fixture, 200, OBJECT_IMMUTABLE);
	uint32_t also_fixed = pass_fixture_put(fixture, 300, OBJECT_IMMUTABLE);

	put_anchors(fixture, 100, plain, 0, 10, 3);
	put_anchors(fixture, 100, fixed, 0, 10, 3);
	put_anchors(fixture, 100, also_fixed, 0, 10, 3);
	check(fixture,
	      (Expected[]){ { plain, 0, fixed, 0, 20 + K }, { plain, 0, also_fixed, 0, 20 + K } },
	      2);
	check_skip(fixture, SKIP_IMMUTABLE, 1, 300);
}

static void test_foreign_objects_are_sources_only_and_noted_once(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t own = pass_fixture_put(fixture, 200, 0);
	uint32_t foreign = pass_fixture_put(fixture, 200, OBJECT_FOREIGN);
	uint32_t also_foreign = pass_fixture_put(fixture, 300, OBJECT_FOREIGN);

	put_anchors(fixture, 100, own, 0, 10, 3);
	put_anchors(fixture, 100, foreign, 0, 10, 3);
	put_anchors(fixture, 100, also_foreign, 0, 10, 3);
	check(fixture,
	      (Expected[]){ { own, 0, foreign, 0, 20 + K }, { own, 0, also_foreign, 0, 20 + K } },
	      2);
	check_skip(fixture, SKIP_DENIED, 1, 300);
}

static void test_nodatacow_shares_with_its_like_only(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t cow = pass_fixture_put(fixture, 200, 0);
	uint32_t also_cow = pass_fixture_put(fixture, 200, 0);
	uint32_t no_cow = pass_fixture_put(fixture, 200, OBJECT_NO_COW);
	uint32_t also_no_cow = pass_fixture_put(fixture, 200, OBJECT_NO_COW);

	put_anchors(fixture, 100, cow, 0, 10, 3);
	put_anchors(fixture, 100, no_cow, 0, 10, 3);
	put_anchors(fixture, 100, also_cow, 0, 10, 3);
	put_anchors(fixture, 100, also_no_cow, 0, 10, 3);
	check(fixture,
	      (Expected[]){ { also_cow, 0, cow, 0, 20 + K },
			    { also_no_cow, 0, no_cow, 0, 20 + K } },
	      2);
}

static void test_a_nodatacow_object_among_others_is_noted_once(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t cow = pass_fixture_put(fixture, 200, 0);
	uint32_t no_cow = pass_fixture_put(fixture, 300, OBJECT_NO_COW);

	put_anchors(fixture, 100, cow, 0, 10, 3);
	put_anchors(fixture, 100, no_cow, 0, 10, 3);
	check(fixture, NULL, 0);
	check_skip(fixture, SKIP_NO_COW, 1, 300);
}

static void test_zeros_become_holes_as_the_policy_says(void)
{
	static const struct {
		ZerosPolicy policy;
		unsigned flags;
		SkipReason reason; /* SKIP_REASONS: they become a hole */
	} cases[] = {
		{ ZEROS_AUTO, 0, SKIP_REASONS },
		{ ZEROS_AUTO, OBJECT_KEEP_ZEROS, SKIP_KEEP_ZEROS },
		{ ZEROS_HOLE, 0, SKIP_REASONS },
		{ ZEROS_HOLE, OBJECT_KEEP_ZEROS, SKIP_REASONS },
		{ ZEROS_KEEP, 0, SKIP_KEEP_ZEROS },
		{ ZEROS_KEEP, OBJECT_KEEP_ZEROS, SKIP_KEEP_ZEROS },
		{ ZEROS_HOLE, OBJECT_NO_COW, SKIP_NO_COW },
		{ ZEROS_HOLE, OBJECT_IMMUTABLE, SKIP_IMMUTABLE },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(PassFixture) fixture = pass_fixture_new();
		uint32_t a = pass_fixture_put(fixture, 300, cases[i].flags);

		fixture->settings.zeros = cases[i].policy;
		pass_fixture_put_anchor(fixture, ANCHOR_ZEROS_DIGEST, a, 20);
		pass_fixture_put_anchor(fixture, ANCHOR_ZEROS_DIGEST, a, 100);
		if (cases[i].reason == SKIP_REASONS) {
			check(fixture,
			      (Expected[]){ { a, 20, RUN_HOLE, 0, 16 },
					    { a, 100, RUN_HOLE, 0, 16 } },
			      2);
		} else {
			check(fixture, NULL, 0);
			check_skip(fixture, cases[i].reason, 1, 300);
		}
	}
}

static void test_by_checksums_only_zeros_of_extents_are_paired(void)
{
	static const ZerosPolicy policies[] = { ZEROS_AUTO, ZEROS_HOLE, ZEROS_KEEP };

	for (size_t i = 0; i < G_N_ELEMENTS(policies); i++) {
		g_autoptr(PassFixture) fixture = pass_fixture_new();
		uint32_t extent = pass_fixture_put(fixture, 300, 0);
		uint32_t pinned = pass_fixture_put(fixture, 300, 0);
		uint32_t file = pass_fixture_put_object(
			fixture, &(Object){ .subvolume = 256, .size_bytes = 300 * 4096 });
		g_autoptr(ObjectTable) table = NULL;

		fixture->result.found_by_checksums = true;
		fixture->settings.zeros = policies[i];
		pass_fixture_put_anchor(fixture, ANCHOR_ZEROS_DIGEST, extent, 20);
		pass_fixture_put_anchor(fixture, ANCHOR_ZEROS_DIGEST, pinned, 30);
		pass_fixture_put_anchor(fixture, ANCHOR_ZEROS_DIGEST, file, 40);
		g_assert_true(hash_store_commit(fixture->pass.store, NULL));
		table = object_table_new(fixture->pass.store, RANK_BY_SIZE, &fixture->settings,
					 NULL, NULL);
		object_table_add_fact(table, pinned, FACT_PINNED);
		check_runs(fixture, table, &(Expected){ extent, 20, RUN_HOLE, 0, 16 }, 1);
	}
}

static void test_zeros_of_settled_objects_are_left_alone(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t old = pass_fixture_put(fixture, 300, 0);
	uint32_t new;

	pass_fixture_put_anchor(fixture, ANCHOR_ZEROS_DIGEST, old, 20);
	pass_fixture_settle(fixture);
	new = pass_fixture_put(fixture, 300, 0);
	pass_fixture_put_anchor(fixture, ANCHOR_ZEROS_DIGEST, new, 40);
	check(fixture, &(Expected){ new, 40, RUN_HOLE, 0, 16 }, 1);
}

static void test_objects_that_are_gone_take_no_part(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t a = pass_fixture_put(fixture, 200, 0);
	uint32_t gone = pass_fixture_put(fixture, 200, 0);

	put_anchors(fixture, 100, a, 0, 10, 3);
	put_anchors(fixture, 100, gone, 0, 10, 3);
	g_assert_true(hash_store_drop(fixture->pass.store, 0, 1000 + gone, NULL));
	check(fixture, NULL, 0);
}

static void test_a_raised_stop_ends_it_at_once(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint32_t a = pass_fixture_put(fixture, 200, 0);
	uint32_t b = pass_fixture_put(fixture, 200, 0);

	put_anchors(fixture, 100, a, 0, 10, 3);
	put_anchors(fixture, 100, b, 0, 10, 3);
	atomic_store(&fixture->stop, true);
	check(fixture, NULL, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/match/nothing-in-common-is-no-run", test_nothing_in_common_is_no_run);
	g_test_add_func("/match/anchors-on-one-diagonal", test_anchors_on_one_diagonal_are_one_run);
	g_test_add_func("/match/a-single-anchor-is-a", test_a_single_anchor_is_a_run_of_its_blocks);
	g_test_add_func("/match/other-diagonals-are-other", test_other_diagonals_are_other_runs);
	g_test_add_func("/match/a-short-gap-is", test_a_short_gap_is_bridged_and_a_long_one_is_not);
	g_test_add_func("/match/equal-objects-are-one", test_equal_objects_are_one_run_over_all);
	g_test_add_func("/match/a-whole", test_a_whole_object_ends_with_its_last_part_of_a_block);
	g_test_add_func("/match/parts-of", test_parts_of_one_object_are_shared_among_each_other);
	g_test_add_func("/match/no-position-is-paired", test_no_position_is_paired_with_itself);
	g_test_add_func("/match/up-to-eight", test_up_to_eight_members_are_paired_all_with_all);
	g_test_add_func("/match/more-members-are-paired-with-the-first-and-the-one-before",
			test_more_members_are_paired_with_the_first_and_the_one_before);
	g_test_add_func("/match/extents-of-a-large-group-are-paired-with-eight-and-further-ones",
			test_extents_of_a_large_group_are_paired_with_eight_and_some_further_ones);
	g_test_add_func("/match/members-that-come-again-are-paired-with-those-of-the-same-place",
			test_members_that_come_again_are_paired_with_those_of_the_same_place);
	g_test_add_func("/match/members-beyond", test_members_beyond_the_largest_group_are_counted);
	g_test_add_func("/match/files-that-are-to-be-identical-are-paired-with-the-first",
			test_files_that_are_to_be_identical_are_paired_with_the_first);
	g_test_add_func("/match/whole-objects-are-paired-with-two-and-none-is-lost",
			test_whole_objects_are_paired_with_two_and_none_is_lost);
	g_test_add_func("/match/what-has-most-in", test_what_has_most_in_common_is_the_source);
	g_test_add_func("/match/settled-objects-are", test_settled_objects_are_sources_only);
	g_test_add_func("/match/objects-outside", test_objects_outside_the_walk_are_sources_only);
	g_test_add_func("/match/immutable-objects-are-sources-only-and-noted-once",
			test_immutable_objects_are_sources_only_and_noted_once);
	g_test_add_func("/match/foreign-objects-are-sources-only-and-noted-once",
			test_foreign_objects_are_sources_only_and_noted_once);
	g_test_add_func("/match/nodatacow-shares-with", test_nodatacow_shares_with_its_like_only);
	g_test_add_func("/match/a-nodatacow", test_a_nodatacow_object_among_others_is_noted_once);
	g_test_add_func("/match/zeros-become-holes-as", test_zeros_become_holes_as_the_policy_says);
	g_test_add_func("/match/by-checksums", test_by_checksums_only_zeros_of_extents_are_paired);
	g_test_add_func("/match/zeros-of-settled", test_zeros_of_settled_objects_are_left_alone);
	g_test_add_func("/match/objects-that-are-gone", test_objects_that_are_gone_take_no_part);
	g_test_add_func("/match/a-raised-stop-ends-it-at-once", test_a_raised_stop_ends_it_at_once);

	return g_test_run();
}
