/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/clone-pairs.h"

#include "common/content/run.h"
#include "tests/unit/window-fixture.h"

#include <string.h>

#define TARGET 1
#define SOURCE 2

static ClonePairs *new_pairs(WindowFixture *fixture)
{
	return clone_pairs_new(1 << 20, fixture->scratch->path, &fixture->stop);
}

/* Add a window of equal data that lies at these places; @source NULL: a hole. */
static void add(WindowFixture *fixture, ClonePairs *pairs, const char *target, const char *source)
{
	const Picture target_picture = { "11111111", target, 0 };
	const Picture source_picture = { "11111111", source, 0 };
	g_autoptr(GError) error = NULL;

	window_fixture_draw(fixture, &target_picture, source ? &source_picture : NULL);
	window_fixture_map(fixture, 0, 0, strlen(target));
	g_assert_true(clone_pairs_add_window(pairs, fixture->window, BLOCK_CANDIDATE, &error));
	g_assert_no_error(error);
}

/* A place is a letter, '.' for a hole. */
static uint64_t place_of(char letter)
{
	return letter == '.' ? CLONE_PLACE_HOLE : (uint64_t)letter;
}

/* The next pair has these places, in lower case, and this length. */
static const ClonePair *assert_next(ClonePairs *pairs, char target, char source, uint64_t blocks)
{
	const ClonePair *pair;

	g_assert_true(clone_pairs_next(pairs, &pair, NULL));
	g_assert_nonnull(pair);
	g_assert_cmpuint(pair->target_place, ==, place_of(target));
	g_assert_cmpuint(pair->source_place, ==, place_of(source));
	g_assert_cmpuint(pair->blocks, ==, blocks);
	return pair;
}

static void assert_end(ClonePairs *pairs)
{
	const ClonePair *pair;

	g_assert_true(clone_pairs_next(pairs, &pair, NULL));
	g_assert_null(pair);
}

static void test_blocks_with_other_references_are_put_aside(WindowFixture *fixture,
							    const void *data)
{
	g_autoptr(ClonePairs) pairs = new_pairs(fixture);
	const ClonePair *pair;

	add(fixture, pairs, "aBCdE", "ghijK");
	window_fixture_assert_states(fixture, "crrcr");
	g_assert_cmpuint(clone_pairs_count(pairs), ==, 2);
	g_assert_true(clone_pairs_sort(pairs, NULL));

	pair = assert_next(pairs, 'b', 'h', 2);
	g_assert_cmpuint(pair->target, ==, TARGET);
	g_assert_cmpuint(pair->source, ==, SOURCE);
	g_assert_cmpuint(pair->target_block, ==, 1);
	g_assert_cmpuint(pair->source_block, ==, 1);
	g_assert_cmpuint(pair->source_is_shared, ==, 0);
	pair = assert_next(pairs, 'e', 'k', 1);
	g_assert_cmpuint(pair->target_block, ==, 4);
	g_assert_cmpuint(pair->source_is_shared, ==, 1);
	assert_end(pairs);
}

/* Blocks in other states are left to others. */
static void test_only_blocks_in_the_state_count(WindowFixture *fixture, const void *data)
{
	const Picture target = { "1111", "ABCD", 0 }, source = { "01111", "0ghij", 0 };
	g_autoptr(ClonePairs) pairs = new_pairs(fixture);
	const ClonePair *pair;

	window_fixture_draw(fixture, &target, &source);
	window_fixture_map(fixture, (uint64_t)-1, 0, 4);
	fixture->window->states[1] = fixture->window->states[2] = BLOCK_EQUAL;
	g_assert_true(clone_pairs_add_window(pairs, fixture->window, BLOCK_EQUAL, NULL));
	window_fixture_assert_states(fixture, "crrc");
	g_assert_true(clone_pairs_sort(pairs, NULL));
	pair = assert_next(pairs, 'b', 'h', 2);
	g_assert_cmpuint(pair->target_block, ==, 1);
	g_assert_cmpuint(pair->source_block, ==, 2);
	assert_end(pairs);
}

static void test_a_pair_ends_where_either_side_goes_on_elsewhere(WindowFixture *fixture,
								 const void *data)
{
	g_autoptr(ClonePairs) pairs = new_pairs(fixture);

	/* The target, the source, whether it is shared, and whether it is a hole. */
	add(fixture, pairs, "ABD", "ghi");
	add(fixture, pairs, "HIJ", "pqs");
	add(fixture, pairs, "LM", "tU");
	fixture->window->is_all_wanted = true;
	add(fixture, pairs, "OP", "v.");
	g_assert_true(clone_pairs_sort(pairs, NULL));
	assert_next(pairs, 'a', 'g', 2);
	assert_next(pairs, 'd', 'i', 1);
	assert_next(pairs, 'h', 'p', 2);
	assert_next(pairs, 'j', 's', 1);
	assert_next(pairs, 'l', 't', 1);
	assert_next(pairs, 'm', 'u', 1);
	assert_next(pairs, 'o', 'v', 1);
	assert_next(pairs, 'p', '.', 1);
	assert_end(pairs);
}

static void test_a_hole_goes_on_at_any_place(WindowFixture *fixture, const void *data)
{
	const Picture zeros = { "0000", "aBCD", 0 };
	g_autoptr(ClonePairs) pairs = new_pairs(fixture);
	const ClonePair *pair;

	window_fixture_draw(fixture, &zeros, NULL);
	window_fixture_map(fixture, 0, 0, 4);
	g_assert_true(clone_pairs_add_window(pairs, fixture->window, BLOCK_CANDIDATE, NULL));
	g_assert_true(clone_pairs_sort(pairs, NULL));
	pair = assert_next(pairs, 'b', '.', 3);
	g_assert_cmpuint(pair->source, ==, RUN_HOLE);
	g_assert_cmpuint(pair->source_block, ==, 0);
	g_assert_cmpuint(pair->source_is_shared, ==, 0);
	assert_end(pairs);
}

static void test_pairs_come_by_place_the_longer_first_and_once(WindowFixture *fixture,
							       const void *data)
{
	g_autoptr(ClonePairs) pairs = new_pairs(fixture);

	add(fixture, pairs, "EF", "ij");
	add(fixture, pairs, "B", "g");
	add(fixture, pairs, "BC", "gh");
	/* The same blocks in another file, and with other sources. */
	add(fixture, pairs, "xBC", "ygh");
	add(fixture, pairs, "BC", "pq");
	add(fixture, pairs, "BC", "gh");
	g_assert_cmpuint(clone_pairs_count(pairs), ==, 6);
	g_assert_true(clone_pairs_sort(pairs, NULL));
	g_assert_cmpuint(assert_next(pairs, 'b', 'g', 2)->target_block, ==, 0);
	assert_next(pairs, 'b', 'p', 2);
	assert_next(pairs, 'b', 'g', 1);
	assert_next(pairs, 'e', 'i', 2);
	assert_end(pairs);
}

static void test_files_that_were_touched_are_known(WindowFixture *fixture, const void *data)
{
	static const uint32_t touched[] = { 1, 7, 8, 1000, 64 };
	g_autoptr(ClonePairs) pairs = new_pairs(fixture);

	for (size_t i = 0; i < G_N_ELEMENTS(touched); i++)
		clone_pairs_touch(pairs, touched[i]);
	for (uint32_t object = 0; object < 2000; object++) {
		bool expected = false;

		for (size_t i = 0; i < G_N_ELEMENTS(touched); i++)
			expected |= touched[i] == object;
		g_assert_cmpint(clone_pairs_is_touched(pairs, object), ==, expected);
	}
	clone_pairs_free(NULL);
}

#define ADD(name, test)                                                                            \
	g_test_add("/clone-pairs/" name, WindowFixture, NULL, window_fixture_set_up, test,         \
		   window_fixture_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	ADD("blocks-with-other-references-are-put-aside",
	    test_blocks_with_other_references_are_put_aside);
	ADD("only-blocks-in-the-state-count", test_only_blocks_in_the_state_count);
	ADD("a-pair-ends-where-either-side-goes-on-elsewhere",
	    test_a_pair_ends_where_either_side_goes_on_elsewhere);
	ADD("a-hole-goes-on-at-any-place", test_a_hole_goes_on_at_any_place);
	ADD("pairs-come-by-place-the-longer-first-and-once",
	    test_pairs_come_by_place_the_longer_first_and_once);
	ADD("files-that-were-touched-are-known", test_files_that_were_touched_are_known);

	return g_test_run();
}
