/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/window-account.h"

#include "daemon/share/clone-pairs.h"
#include "tests/unit/window-fixture.h"

#include <string.h>

/* Candidates of which the first are shared cost more than they free. */
static void test_what_costs_more_than_the_pass_may_compare_is_skipped(WindowFixture *fixture,
								      const void *data)
{
	static const struct {
		Picture target, source;  /* without content: a hole */
		uint64_t compared_bytes; /* before */
		const char *expected;
		uint64_t costly_blocks, cost_blocks;
	} cases[] = {
		/* No clone among the candidates: no account. */
		{ { "pqrs", "abcB", 0 }, { "pqrs", "gggb", 0 }, UINT64_C(1) << 40, "cccs", 0, 0 },
		/* One block of the target, or of the source, is a clone. */
		{ { "pqrs", "abCb", 0 }, { "pqrs", "gggb", 0 }, UINT64_C(1) << 40, "---s", 3, 6 },
		{ { "pqrs", "abcb", 0 }, { "pqrs", "ggGb", 0 }, UINT64_C(1) << 40, "---s", 3, 6 },
		{ { "00", "aB", 0 }, { NULL, NULL, 0 }, UINT64_C(1) << 40, "--", 2, 2 },
		/* The slack, and 16 times the two blocks that are freed, pay for six blocks. */
		{ { "pqrs", "abCb", 0 },
		  { "pqrs", "gggb", 0 },
		  COMPARE_SLACK_BYTES + (2 * 16 - 6) * FIXTURE_BLOCK,
		  "cccs",
		  0,
		  0 },
		{ { "pqrs", "abCb", 0 },
		  { "pqrs", "gggb", 0 },
		  COMPARE_SLACK_BYTES + (2 * 16 - 6) * FIXTURE_BLOCK + 1,
		  "---s",
		  3,
		  6 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint64_t costly_bytes = 5;
		GError *error = NULL;
		bool is_clone = i > 0;

		window_fixture_draw(fixture, &cases[i].target,
				    cases[i].source.content ? &cases[i].source : NULL);
		window_fixture_map(fixture, 0, 0, strlen(cases[i].target.content));
		fixture->pass.account.compared_bytes = cases[i].compared_bytes;
		fixture->result.costly_bytes = 7;
		g_assert_cmpint(window_account_expects_compare(&fixture->pass, fixture->window), ==,
				!is_clone || cases[i].costly_blocks == 0);
		g_assert_true(window_account_limit(&fixture->pass, fixture->window, NULL,
						   &costly_bytes, &error));
		g_assert_no_error(error);
		window_fixture_assert_states(fixture, cases[i].expected);
		g_assert_cmpuint(costly_bytes, ==, 5 + cases[i].costly_blocks * FIXTURE_BLOCK);
		g_assert_cmpuint(fixture->result.costly_bytes, ==,
				 7 + cases[i].cost_blocks * FIXTURE_BLOCK);
	}
}

static void test_clones_of_xfs_are_left_for_later(WindowFixture *fixture, const void *data)
{
	const Picture target = { "pqrst", "aBCde", 0 }, source = { "pqrst", "ghiJe", 0 };
	uint64_t costly_bytes = 0;
	GError *error = NULL;

	fixture->pass.xfs.clones = clone_pairs_new(1 << 20, fixture->scratch->path, &fixture->stop);
	window_fixture_draw(fixture, &target, &source);
	window_fixture_map(fixture, 0, 0, 5);
	g_assert_false(window_account_expects_compare(&fixture->pass, fixture->window));
	window_account_note_clones(&fixture->pass, fixture->window);
	g_assert_true(
		window_account_limit(&fixture->pass, fixture->window, NULL, &costly_bytes, &error));
	g_assert_no_error(error);
	window_fixture_assert_states(fixture, "crrcs");
	g_assert_cmpuint(costly_bytes, ==, 0);
	g_assert_cmpuint(clone_pairs_count(fixture->pass.xfs.clones), ==, 1);
	g_assert_true(clone_pairs_is_touched(fixture->pass.xfs.clones, 1));
	g_assert_true(clone_pairs_is_touched(fixture->pass.xfs.clones, 2));
	g_assert_false(clone_pairs_is_touched(fixture->pass.xfs.clones, 3));
}

/* XFS frees the target's blocks then, and it is known only later how many zeros there are. */
static void test_clones_of_xfs_do_not_concern_other_targets_and_holes(WindowFixture *fixture,
								      const void *data)
{
	const Picture target = { "pqr", "abC", 0 }, source = { "pqr", "GHc", 0 };
	const Picture zeros = { "000", "aBC", 0 };
	uint64_t costly_bytes = 0;
	GError *error = NULL;

	fixture->pass.xfs.clones = clone_pairs_new(1 << 20, fixture->scratch->path, &fixture->stop);
	fixture->pass.account.compared_bytes = UINT64_C(1) << 40;
	window_fixture_draw(fixture, &target, &source);
	window_fixture_map(fixture, 0, 0, 3);
	g_assert_true(window_account_expects_compare(&fixture->pass, fixture->window));
	g_assert_true(
		window_account_limit(&fixture->pass, fixture->window, NULL, &costly_bytes, &error));
	window_fixture_assert_states(fixture, "ccs");

	fixture->pass.account.compared_bytes = 0;
	window_fixture_draw(fixture, &zeros, NULL);
	window_fixture_map(fixture, 0, 0, 3);
	g_assert_true(
		window_account_limit(&fixture->pass, fixture->window, NULL, &costly_bytes, &error));
	window_fixture_assert_states(fixture, "ccc");
	g_assert_no_error(error);
	g_assert_cmpuint(costly_bytes, ==, 0);
	g_assert_cmpuint(clone_pairs_count(fixture->pass.xfs.clones), ==, 0);
}

/* CloneSharer expects its blocks at certain places. */
static void test_blocks_that_were_moved_since_are_left_out(WindowFixture *fixture, const void *data)
{
	const Picture target = { "0pqrst", "0abcde", 0 }, source = { "pqrst", "ghxjk", 0 };
	const CloneTarget clone = {
		.target_block = 1, .blocks = 5, .target_place = 'a', .source_place = 'g'
	};
	const CloneTarget of_hole = { .target_block = 1,
				      .blocks = 5,
				      .target_place = 'a',
				      .source_place = CLONE_PLACE_HOLE };
	uint64_t costly_bytes = 0;

	window_fixture_draw(fixture, &target, &source);
	window_fixture_move(fixture->target, "0aycde");
	window_fixture_map(fixture, 1, 1, 5);
	g_assert_true(
		window_account_limit(&fixture->pass, fixture->window, &clone, &costly_bytes, NULL));
	window_fixture_assert_states(fixture, "c--cc");

	window_fixture_draw(fixture, &target, NULL);
	window_fixture_move(fixture->target, "0aycde");
	window_fixture_map(fixture, 0, 2, 4);
	g_assert_true(window_account_limit(&fixture->pass, fixture->window, &of_hole, &costly_bytes,
					   NULL));
	window_fixture_assert_states(fixture, "-ccc");
}

static void test_clones_that_cannot_be_kept_are_an_error(WindowFixture *fixture, const void *data)
{
	/* More pairs than the least memory holds, and no directory for the others. */
	const Picture target = { "pqrstvwx", "AbCdEfGh", 0 };
	const Picture source = { "pqrstvwx", "nopqrstv", 0 };
	g_autoptr(GError) error = NULL;
	uint64_t costly_bytes = 0;

	fixture->pass.xfs.clones = clone_pairs_new(0, "/proc/nowhere", &fixture->stop);
	window_fixture_draw(fixture, &target, &source);
	window_fixture_map(fixture, 0, 0, 8);
	g_assert_false(
		window_account_limit(&fixture->pass, fixture->window, NULL, &costly_bytes, &error));
	g_assert_nonnull(error);
}

static void test_what_was_shared_is_counted(WindowFixture *fixture, const void *data)
{
	static const struct {
		const char *target, *after; /* places */
		const char *source;         /* NULL: a hole */
		ZerosPolicy zeros;
		bool by_checksums;
		size_t first, end;
		uint64_t runs, shared, freed, holes;
	} cases[] = {
		{ "abcd", "ghid", "ghij", ZEROS_AUTO, false, 0, 4, 1, 3, 3, 0 },
		{ "abcd", "ghid", "ghij", ZEROS_AUTO, false, 1, 2, 1, 1, 1, 0 },
		{ "abcd", "ghid", "ghij", ZEROS_AUTO, false, 3, 4, 0, 0, 0, 0 },
		/* Blocks that others use, too, are not freed. */
		{ "aBcd", "ghid", "ghij", ZEROS_AUTO, false, 0, 4, 1, 3, 2, 0 },
		{ "abCd", "...d", NULL, ZEROS_AUTO, false, 0, 4, 1, 3, 2, 2 },
		{ "abcd", "g.id", "g.ij", ZEROS_AUTO, false, 0, 4, 1, 3, 3, 1 },
		/* Zeros that are shared with each other stay data. */
		{ "abcd", "...d", NULL, ZEROS_SHARE, false, 0, 4, 1, 3, 3, 0 },
		/* In a pass over extents others count what is freed. */
		{ "abcd", "ghid", "ghij", ZEROS_AUTO, true, 0, 4, 1, 3, 0, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const Picture target = { "0000", cases[i].target, 0 };
		const Picture source = { "0000", cases[i].source, 0 };
		bool by_checksums = cases[i].by_checksums;

		fixture->settings.zeros = cases[i].zeros;
		fixture->result = (PassResult){ .found_by_checksums = by_checksums };
		fixture->pass.account.gained_bytes = 0;
		atomic_store(&fixture->progress.freed_bytes, 0);
		window_fixture_draw(fixture, &target, cases[i].source ? &source : NULL);
		window_fixture_map(fixture, 0, 0, 4);
		window_fixture_move(fixture->target, cases[i].after);
		g_assert_true(dedupe_window_map_again(fixture->window, NULL));
		window_account_add_shared(&fixture->pass, fixture->window, cases[i].first,
					  cases[i].end);

		g_assert_cmpuint(fixture->result.shared.runs, ==, cases[i].runs);
		g_assert_cmpuint(fixture->result.shared.bytes, ==, cases[i].shared * FIXTURE_BLOCK);
		g_assert_cmpuint(fixture->result.freed.bytes, ==, cases[i].freed * FIXTURE_BLOCK);
		g_assert_cmpuint(fixture->result.freed.hole_bytes, ==,
				 cases[i].holes * FIXTURE_BLOCK);
		g_assert_cmpuint(atomic_load(&fixture->progress.freed_bytes), ==,
				 cases[i].freed * FIXTURE_BLOCK);
		g_assert_cmpuint(fixture->pass.account.gained_bytes, ==,
				 (by_checksums ? cases[i].shared : cases[i].freed) * FIXTURE_BLOCK);
	}
}

/* Where the pass shared something, a later one sees whether the filesystem was set back. */
static void test_places_and_files_that_were_shared_are_noted(WindowFixture *fixture,
							     const void *data)
{
	const Picture target = { "0pqrs", "0abcd", 0 }, source = { "0pqrs", "0ghij", 0 };
	Pass *pass = &fixture->pass;

	pass->xfs.clones = clone_pairs_new(1 << 20, fixture->scratch->path, &fixture->stop);
	window_fixture_draw(fixture, &target, &source);
	fixture->target->subvolume = 5;
	fixture->target->inode = 257;
	window_fixture_map(fixture, 0, 1, 4);

	/* The kernel shared nothing, and the files have no clones. */
	window_account_note_clones(pass, fixture->window);
	window_account_add_shared(pass, fixture->window, 0, 4);
	g_assert_cmpuint(witness_sample_count(&pass->shared), ==, 0);
	g_assert_false(clone_pairs_is_touched(pass->xfs.clones, 1));
	g_assert_false(clone_pairs_is_touched(pass->xfs.clones, 2));

	window_fixture_move(fixture->target, "0abij");
	g_assert_true(dedupe_window_map_again(fixture->window, NULL));
	window_account_add_shared(pass, fixture->window, 2, 4);
	g_assert_cmpuint(witness_sample_count(&pass->shared), ==, 1);
	g_assert_cmpuint(pass->shared.places[0].subvolume, ==, 5);
	g_assert_cmpuint(pass->shared.places[0].inode, ==, 257);
	g_assert_cmpuint(pass->shared.places[0].offset, ==, 3 * FIXTURE_BLOCK);
	g_assert_true(clone_pairs_is_touched(pass->xfs.clones, 1));
	g_assert_true(clone_pairs_is_touched(pass->xfs.clones, 2));
}

static void test_a_dry_run_counts_as_if_all_was_shared(WindowFixture *fixture, const void *data)
{
	const Picture target = { "pqrs", "aBcd", 0 }, source = { "pqrs", "ghij", 0 };

	window_fixture_draw(fixture, &target, &source);
	window_fixture_map(fixture, 0, 0, 4);
	window_account_add_expected(&fixture->pass, fixture->window, 0, 3);
	g_assert_cmpuint(fixture->result.shared.runs, ==, 1);
	g_assert_cmpuint(fixture->result.shared.bytes, ==, 3 * FIXTURE_BLOCK);
	g_assert_cmpuint(fixture->result.freed.bytes, ==, 2 * FIXTURE_BLOCK);
}

static void test_what_was_shared_before_is_counted_and_settled(WindowFixture *fixture,
							       const void *data)
{
	const Picture target = { "pqrstvwx", "abcdefgh", 0 };
	const Picture source = { "0pqrstvwx", "0abxdeyzh", 0 };
	g_autoptr(BlockSet) settled = block_set_new();
	uint64_t first, end;

	window_fixture_draw(fixture, &target, &source);
	window_fixture_map(fixture, (uint64_t)-1, 0, 8);
	window_fixture_assert_states(fixture, "sscssccs");
	window_account_add_same_place(&fixture->pass, fixture->window, settled);
	g_assert_cmpuint(fixture->result.shared.already_bytes, ==, 5 * FIXTURE_BLOCK);
	g_assert_true(block_set_gap(settled, 0, 8, &first, &end));
	g_assert_cmpuint(first, ==, 2);
	g_assert_cmpuint(end, ==, 3);
	g_assert_true(block_set_gap(settled, 3, 8, &first, &end));
	g_assert_cmpuint(first, ==, 5);
	g_assert_cmpuint(end, ==, 7);
}

/* What btrfs calls shared changes as soon as a part of the extent is replaced. */
static void test_who_has_a_block_is_noted_before_anything_is_shared(WindowFixture *fixture,
								    const void *data)
{
	static const bool expected[] = { false, true, true, false, true, false };
	const Picture target = { "pqrstvwx", "aBcDE.Gh", 0 },
		      source = { "pqrstvwx", "ijklmnop", 0 };
	g_autoptr(BlockSet) others = block_set_new();

	/* Of another target, before. */
	block_set_add(others, 0, 8);
	window_fixture_draw(fixture, &target, &source);
	window_account_note_others(others, fixture->target, FIXTURE_BLOCK);
	window_fixture_move(fixture->target, "AbCdefgH");
	window_fixture_map(fixture, 0, 2, 6);
	window_account_recall_others(others, fixture->window);
	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
		g_assert_cmpint(fixture->window->target_shared[i], ==, expected[i]);

	/* If nothing is known, nothing counts as freed. */
	window_fixture_move(fixture->target, NULL);
	window_account_note_others(others, fixture->target, FIXTURE_BLOCK);
	window_account_recall_others(others, fixture->window);
	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
		g_assert_true(fixture->window->target_shared[i]);
}

static void test_compared_bytes_are_charged(WindowFixture *fixture, const void *data)
{
	fixture->window->read_bytes = 6 * FIXTURE_BLOCK;
	window_account_charge(&fixture->pass, fixture->window, false);
	g_assert_cmpuint(fixture->result.compare_bytes, ==, 6 * FIXTURE_BLOCK);
	g_assert_cmpuint(fixture->pass.account.compared_bytes, ==, 6 * FIXTURE_BLOCK);
	g_assert_cmpuint(fixture->window->read_bytes, ==, 0);

	/* The source is in the page cache: only the target weighs. */
	fixture->window->read_bytes = 2 * FIXTURE_BLOCK;
	window_account_charge(&fixture->pass, fixture->window, true);
	g_assert_cmpuint(fixture->result.compare_bytes, ==, 8 * FIXTURE_BLOCK);
	g_assert_cmpuint(fixture->pass.account.compared_bytes, ==, 7 * FIXTURE_BLOCK);
}

#define ADD(name, test)                                                                            \
	g_test_add("/window-account/" name, WindowFixture, NULL, window_fixture_set_up, test,      \
		   window_fixture_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	ADD("what-costs-more-than-the-pass-may-compare-is-skipped",
	    test_what_costs_more_than_the_pass_may_compare_is_skipped);
	ADD("clones-of-xfs-are-left-for-later", test_clones_of_xfs_are_left_for_later);
	ADD("clones-of-xfs-do-not-concern-other-targets-and-holes",
	    test_clones_of_xfs_do_not_concern_other_targets_and_holes);
	ADD("blocks-that-were-moved-since-are-left-out",
	    test_blocks_that_were_moved_since_are_left_out);
	ADD("clones-that-cannot-be-kept-are-an-error",
	    test_clones_that_cannot_be_kept_are_an_error);
	ADD("what-was-shared-is-counted", test_what_was_shared_is_counted);
	ADD("places-and-files-that-were-shared-are-noted",
	    test_places_and_files_that_were_shared_are_noted);
	ADD("a-dry-run-counts-as-if-all-was-shared", test_a_dry_run_counts_as_if_all_was_shared);
	ADD("what-was-shared-before-is-counted-and-settled",
	    test_what_was_shared_before_is_counted_and_settled);
	ADD("who-has-a-block-is-noted-before-anything-is-shared",
	    test_who_has_a_block_is_noted_before_anything_is_shared);
	ADD("compared-bytes-are-charged", test_compared_bytes_are_charged);

	return g_test_run();
}
