/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/checksum-trust.h"

#include "kernel-ioctl/file/dedupe-range.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/pass-fixture.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static ExtentStamp stamp(uint64_t number)
{
	return (ExtentStamp){ number * MIB, 100 + number };
}

static ChecksumTrust ask(PassFixture *fixture, uint64_t target, uint64_t source, bool is_whole)
{
	ExtentStamp mine = stamp(target), other = stamp(source);
	GError *error = NULL;
	ChecksumTrust belief;

	g_assert_true(checksum_trust_ask(&fixture->pass, &mine, &other, is_whole, &belief, &error));
	g_assert_no_error(error);
	return belief;
}

static bool add(PassFixture *fixture, uint64_t target, uint64_t source, uint64_t bytes)
{
	ExtentStamp mine = stamp(target), other = stamp(source);
	GError *error = NULL;
	bool kept;

	g_assert_true(checksum_trust_add(&fixture->pass, &mine, &other, bytes, &kept, &error));
	g_assert_no_error(error);
	return kept;
}

static void test_equal_sums_are_believed_at_first(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	g_assert_cmpint(ask(fixture, 1, 2, false), ==, CHECKSUM_TRUST_YES);
	g_assert_cmpint(ask(fixture, 1, 2, true), ==, CHECKSUM_TRUST_YES);
}

static void test_what_differed_is_not_tried_again_in_either_role(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	g_assert_true(add(fixture, 1, 2, 8192));
	g_assert_false(add(fixture, 1, 2, 8192));
	g_assert_cmpint(ask(fixture, 1, 2, true), ==, CHECKSUM_TRUST_NO);
	g_assert_cmpint(ask(fixture, 2, 1, false), ==, CHECKSUM_TRUST_NO);
	g_assert_cmpint(ask(fixture, 1, 3, false), ==, CHECKSUM_TRUST_YES);
	g_assert_cmpuint(fixture->result.shared.differed, ==, 2);
	g_assert_cmpuint(fixture->result.wasted_bytes, ==, 2 * 8192);
}

static void test_an_extent_that_differed_from_three_is_believed_as_a_whole_only(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	add(fixture, 2, 1, 8192);
	add(fixture, 1, 3, 8192);
	g_assert_cmpint(ask(fixture, 1, 9, false), ==, CHECKSUM_TRUST_YES);
	add(fixture, 4, 1, 8192);
	g_assert_cmpint(ask(fixture, 1, 9, false), ==, CHECKSUM_TRUST_NO);
	g_assert_cmpint(ask(fixture, 9, 1, false), ==, CHECKSUM_TRUST_NO);
	g_assert_cmpint(ask(fixture, 1, 9, true), ==, CHECKSUM_TRUST_YES);
	g_assert_cmpint(ask(fixture, 2, 9, false), ==, CHECKSUM_TRUST_YES);
}

static ChecksumTrust ask_for_hole(PassFixture *fixture, uint64_t target)
{
	ExtentStamp mine = stamp(target);
	GError *error = NULL;
	ChecksumTrust belief;

	g_assert_true(checksum_trust_ask(&fixture->pass, &mine, &CHECKSUM_TRUST_HOLE, false,
					 &belief, &error));
	g_assert_no_error(error);
	return belief;
}

static void test_zeros_that_many_had_not_are_believed_of_others(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	for (uint64_t target = 1; target <= 2 * CHECKSUM_TRUST_DIFFERED_MAX; target++) {
		ExtentStamp mine = stamp(target);
		bool kept;

		g_assert_cmpint(ask_for_hole(fixture, target), ==, CHECKSUM_TRUST_YES);
		g_assert_true(checksum_trust_add(&fixture->pass, &mine, &CHECKSUM_TRUST_HOLE, 4096,
						 &kept, NULL));
		g_assert_true(kept);
		g_assert_cmpint(ask_for_hole(fixture, target), ==, CHECKSUM_TRUST_NO);
		g_assert_cmpint(ask(fixture, target, 100, false), ==, CHECKSUM_TRUST_YES);
	}
}

static void test_an_extent_that_differed_from_three_has_no_zeros(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	for (uint64_t source = 2; source < 2 + CHECKSUM_TRUST_DIFFERED_MAX; source++)
		add(fixture, 1, source, 4096);
	g_assert_cmpint(ask_for_hole(fixture, 1), ==, CHECKSUM_TRUST_NO);
	g_assert_cmpint(ask_for_hole(fixture, 2), ==, CHECKSUM_TRUST_YES);
}

static void test_a_pass_that_wasted_too_much_believes_whole_extents_only(void)
{
	static const struct {
		uint64_t compared, wasted;
		ChecksumTrust part;
	} cases[] = {
		{ 40 * MIB, 32 * MIB, CHECKSUM_TRUST_YES },
		{ 40 * MIB, 32 * MIB + 1, CHECKSUM_TRUST_NOT_NOW },
		{ 640 * MIB, 32 * MIB, CHECKSUM_TRUST_YES },
		{ 100 * GIB, 5 * GIB, CHECKSUM_TRUST_YES },
		{ 100 * GIB, 5 * GIB + 1, CHECKSUM_TRUST_NOT_NOW },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(PassFixture) fixture = pass_fixture_new();

		fixture->result.compare_bytes = cases[i].compared;
		fixture->result.wasted_bytes = cases[i].wasted;
		g_assert_cmpint(ask(fixture, 1, 2, false), ==, cases[i].part);
		g_assert_cmpint(ask(fixture, 1, 2, true), ==, CHECKSUM_TRUST_YES);
		add(fixture, 1, 2, 0);
		g_assert_cmpint(ask(fixture, 1, 2, false), ==, CHECKSUM_TRUST_NO);
	}
}

static void test_pieces_are_as_long_as_they_are_trusted(void)
{
	static const struct {
		uint64_t wasted, length, done, next;
	} cases[] = {
		/* Short ranges at once, long ones with a probe. */
		{ 0, 5000, 0, 5000 },
		{ 0, MIB, 0, MIB },
		{ 0, MIB + 1, 0, 128 * KIB },
		{ 0, 100 * MIB, 128 * KIB, DEDUPE_ROUND_BYTES },
		{ 0, 2 * MIB, 128 * KIB, 2 * MIB - 128 * KIB },
		{ 4 * MIB, 100 * MIB, 0, 128 * KIB },
		/* A wary pass begins with a block. */
		{ 4 * MIB + 1, 5000, 0, 4096 },
		{ 4 * MIB + 1, 5000, 4096, 904 },
		{ 4 * MIB + 1, 100 * MIB, 0, 4096 },
		{ 4 * MIB + 1, 100 * MIB, 4096, 8192 },
		{ 4 * MIB + 1, 100 * MIB, 12288, 24576 },
		{ 4 * MIB + 1, 100 * MIB, 50 * MIB, DEDUPE_ROUND_BYTES },
	};
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		fixture->result.wasted_bytes = cases[i].wasted;
		g_assert_cmpuint(
			checksum_trust_next_bytes(&fixture->pass, cases[i].length, cases[i].done),
			==, cases[i].next);
	}
}

static void test_a_pass_in_which_nothing_differed_tries_no_small_piece_first(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	fixture->result.shared.bytes = 16 * MIB - 1;
	g_assert_cmpuint(checksum_trust_next_bytes(&fixture->pass, GIB, 0), ==, 128 * KIB);
	fixture->result.shared.bytes = 16 * MIB;
	g_assert_cmpuint(checksum_trust_next_bytes(&fixture->pass, GIB, 0), ==, 16 * MIB);
	fixture->result.shared.differed = 1;
	g_assert_cmpuint(checksum_trust_next_bytes(&fixture->pass, GIB, 0), ==, 128 * KIB);
}

static void test_a_wary_pass_reads_little_ahead(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	g_assert_cmpuint(checksum_trust_ahead_bytes(&fixture->pass, GIB), ==, 256 * KIB);
	g_assert_cmpuint(checksum_trust_ahead_bytes(&fixture->pass, 5000), ==, 5000);
	fixture->result.wasted_bytes = 5 * MIB;
	g_assert_cmpuint(checksum_trust_ahead_bytes(&fixture->pass, GIB), ==, 4096);
}

static bool ask_it(void *data, GError **error)
{
	ExtentStamp mine = stamp(1), other = stamp(2);
	ChecksumTrust belief;

	return checksum_trust_ask(data, &mine, &other, false, &belief, error);
}

static bool add_it(void *data, GError **error)
{
	ExtentStamp mine = stamp(1), other = stamp(2);
	bool kept;

	return checksum_trust_add(data, &mine, &other, MIB, &kept, error);
}

static void test_errors_are_passed_on(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	failing_store_try(fixture->pass.store, add_it, &fixture->pass);
	failing_store_try(fixture->pass.store, ask_it, &fixture->pass);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/doubts/equal-sums-are-believed-at-first",
			test_equal_sums_are_believed_at_first);
	g_test_add_func("/doubts/a-pass-in-which-nothing-differed-tries-no-small-piece-first",
			test_a_pass_in_which_nothing_differed_tries_no_small_piece_first);
	g_test_add_func("/doubts/what-differed-is-not-tried-again-in-either-role",
			test_what_differed_is_not_tried_again_in_either_role);
	g_test_add_func("/doubts/an-extent-that-differed-from-three-is-believed-as-a-whole-only",
			test_an_extent_that_differed_from_three_is_believed_as_a_whole_only);
	g_test_add_func("/doubts/zeros-that-many-had-not-are-believed-of-others",
			test_zeros_that_many_had_not_are_believed_of_others);
	g_test_add_func("/doubts/an-extent-that-differed-from-three-has-no-zeros",
			test_an_extent_that_differed_from_three_has_no_zeros);
	g_test_add_func("/doubts/a-pass-that-wasted-too-much-believes-whole-extents-only",
			test_a_pass_that_wasted_too_much_believes_whole_extents_only);
	g_test_add_func("/doubts/pieces-are-as-long-as-they-are-trusted",
			test_pieces_are_as_long_as_they_are_trusted);
	g_test_add_func("/doubts/a-wary-pass-reads-little-ahead",
			test_a_wary_pass_reads_little_ahead);
	g_test_add_func("/checksum-trust/errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
