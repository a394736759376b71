/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/dedupe-window.h"

#include "tests/unit/window-fixture.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Up to where each file was fetched, by its descriptor; and how far less than a piece ahead of a read that was, at most. */
static uint64_t fetched_ends[1024];
static uint64_t most_unfetched;

int posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
	if (advice == POSIX_FADV_WILLNEED)
		fetched_ends[fd] = (uint64_t)(offset + length);
	return 0;
}

ssize_t pread(int fd, void *buffer, size_t length, off_t offset)
{
	uint64_t end = MIN((uint64_t)offset + length + FILE_READER_PIECE_BYTES,
			   (uint64_t)lseek(fd, 0, SEEK_END));

	most_unfetched = MAX(most_unfetched, end - MIN(end, fetched_ends[fd]));
	return syscall(SYS_pread64, fd, buffer, length, offset);
}

static void compare(WindowFixture *fixture)
{
	OpenObject *unreadable;

	g_assert_cmpint(dedupe_window_compare(fixture->window, &unreadable), ==, READ_DONE);
}

static void test_places_tell_what_can_be_shared(WindowFixture *fixture, const void *data)
{
	static const struct {
		const char *target, *source; /* places; NULL: a hole */
		bool is_all_wanted;
		const char *expected;
	} cases[] = {
		{ "abc!e^.~", "fbcaeaaa", false, "css-s---" },
		{ "abcAB", "ABDab", false, "sscss" },
		{ "aaaaaa", "b.~^!A", false, "c----s" },
		{ "aaaaaa", "b.~^!A", true, "cc---s" },
		{ "a.~^!A", NULL, false, "c----c" },
		{ "a.~^!A", NULL, true, "c----c" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const Picture target = { cases[i].target, cases[i].target, 0 };
		const Picture source = { cases[i].source, cases[i].source, 0 };

		window_fixture_draw(fixture, &target, cases[i].source ? &source : NULL);
		fixture->window->is_all_wanted = cases[i].is_all_wanted;
		window_fixture_map(fixture, 0, 0, strlen(cases[i].target));
		window_fixture_assert_states(fixture, cases[i].expected);
	}
}

static void test_a_window_shows_a_part_of_both_files(WindowFixture *fixture, const void *data)
{
	const Picture target = { "pqrstvwxyz", "pqRstVWxyz", 0 };
	const Picture source = { "0rstvwx", "ArstGWX", 0 };
	static const bool target_shared[] = { true, false, false, true };
	static const bool source_shared[] = { false, false, false, true };
	DedupeWindow *window = fixture->window;

	window_fixture_draw(fixture, &target, &source);
	/* Blocks 2 to 5 of the target beside blocks 1 to 4 of the source. */
	window_fixture_map(fixture, 1, 2, 4);
	window_fixture_assert_states(fixture, "sssc");
	g_assert_cmpmem(window->target_shared, 4, target_shared, 4);
	g_assert_cmpmem(window->source_shared, 4, source_shared, 4);
	for (size_t i = 0; i < 4; i++)
		g_assert_cmpuint(window->target_costs[i], ==, FIXTURE_BLOCK);
	g_assert_false(dedupe_window_is_shared(window, 3));
	compare(fixture);
	window_fixture_assert_states(fixture, "sss=");
	g_assert_cmpuint(window->read_bytes, ==, 2 * FIXTURE_BLOCK);

	/* The kernel shared the block. */
	window_fixture_move(fixture->target, "pqRstGWxyz");
	g_assert_true(dedupe_window_map_again(window, NULL));
	g_assert_true(dedupe_window_is_shared(window, 3));
}

#define ZEROS_15 "000000000000000"
#define ZEROS_16 ZEROS_15 "0"
#define EQUAL_15 "==============="
#define EQUAL_16 EQUAL_15 "="
#define A_15     "aaaaaaaaaaaaaaa"
#define B_15     "bbbbbbbbbbbbbbb"

static void test_contents_are_compared(WindowFixture *fixture, const void *data)
{
	static const struct {
		Picture target, source; /* without content: a hole */
		uint64_t first;
		size_t n;
		bool zeros_are_data;
		const char *expected;
		uint64_t read_blocks;
	} cases[] = {
		{ { "pqrs", "abab", 0 }, { "pqts", "bbab", 0 }, 0, 4, false, "=sss", 2 },
		{ { "pqrs", "aaaa", 0 }, { "pqts", "bbbb", 0 }, 0, 4, false, "==x=", 8 },
		/* Parts of blocks are equal if both files end there. */
		{ { "pq", "aa", 5 }, { "pq", "bb", 5 }, 0, 2, false, "==", 4 },
		{ { "pq", "aa", 5 }, { "pq", "bb", 6 }, 0, 2, false, "=x", 4 },
		{ { "pq", "aa", 5 }, { "pq", "bb", 0 }, 0, 2, false, "=x", 4 },
		{ { "pq", "aa", FIXTURE_BLOCK - 1 },
		  { "pq", "bb", FIXTURE_BLOCK - 1 },
		  0,
		  2,
		  false,
		  "==",
		  4 },
		/* Nothing behind the end is equal. */
		{ { "pq", "aaa", 0 }, { "pq", "bbb", 0 }, 0, 3, false, "==x", 4 },
		/* With a hole, zeros alone are equal. */
		{ { "0p00", "aaaa", 0 }, { NULL, NULL, 0 }, 0, 4, false, "=x==", 4 },
		{ { "0p00", "aaaa", 9 }, { NULL, NULL, 0 }, 0, 4, false, "=x==", 4 },
		{ { "00", "aaa", 0 }, { NULL, NULL, 0 }, 0, 3, false, "==x", 2 },
		/* Zeros are shared like data if they are few, unless they are the whole file. */
		{ { "p" ZEROS_15, "a" A_15, 0 },
		  { "p" ZEROS_15, "b" B_15, 0 },
		  0,
		  16,
		  false,
		  EQUAL_16,
		  32 },
		{ { "p" ZEROS_16, "aa" A_15, 0 },
		  { "p" ZEROS_16, "bb" B_15, 0 },
		  0,
		  17,
		  false,
		  "=" ZEROS_16,
		  34 },
		{ { "p" ZEROS_16, "aa" A_15, 0 },
		  { "p" ZEROS_16, "bb" B_15, 0 },
		  0,
		  17,
		  true,
		  "=" EQUAL_16,
		  34 },
		{ { "000", "aaa", 0 }, { "000", "bbb", 0 }, 0, 3, false, "000", 6 },
		{ { "000", "aaa", 7 }, { "000", "bbb", 7 }, 0, 3, false, "000", 6 },
		{ { "000", "aaa", 0 }, { "000", "bbb", 0 }, 0, 3, true, "===", 6 },
		{ { "000", "aaa", 0 }, { "000", "bbb", 0 }, 0, 2, false, "==", 4 },
		{ { "000", "aaa", 0 }, { "000", "bbb", 0 }, 1, 2, false, "==", 4 },
		{ { "00p", "aaa", 0 }, { "00p", "bbb", 0 }, 0, 3, false, "===", 6 },
		{ { "p00", "aaa", 0 }, { "p00", "bbb", 0 }, 0, 3, false, "===", 6 },
		{ { "000", "aaa", 0 }, { "000", "bba", 0 }, 0, 3, false, "==s", 4 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint64_t sides = cases[i].source.content ? 2 : 1;
		/* If the last block is in the window. */
		bool is_cut = cases[i].first + cases[i].n >= strlen(cases[i].target.content);
		uint64_t cut_bytes =
			is_cut ? cases[i].target.cut_bytes + cases[i].source.cut_bytes * (sides - 1)
			       : 0;

		window_fixture_draw(fixture, &cases[i].target,
				    sides == 2 ? &cases[i].source : NULL);
		fixture->window->zeros_are_data = cases[i].zeros_are_data;
		fixture->window->read_bytes = 0;
		window_fixture_map(fixture, 0, cases[i].first, cases[i].n);
		compare(fixture);
		window_fixture_assert_states(fixture, cases[i].expected);
		g_assert_cmpuint(fixture->window->read_bytes, ==,
				 cases[i].read_blocks * FIXTURE_BLOCK - cut_bytes);
	}
}

/* Blocks around the begin and the end of steps and pieces. */
static const size_t edges[] = { 0, 1, 31, 32, 33, 63, 255, 256, 257, 511, 512, 600, 699 };

#define LONG_BLOCKS 700

static void test_a_long_range_is_read_in_steps_and_fetched_ahead(WindowFixture *fixture,
								 const void *data)
{
	g_autofree char *target_places = g_strnfill(LONG_BLOCKS, 'a');
	g_autofree char *source_places = g_strnfill(LONG_BLOCKS, 'b');
	g_autofree char *content = g_strnfill(LONG_BLOCKS, 'p');
	g_autofree char *other = g_strnfill(LONG_BLOCKS, 'p');
	g_autofree char *expected = g_strnfill(LONG_BLOCKS, '=');
	const Picture target = { content, target_places, 0 }, source = { other, source_places, 0 };

	for (size_t i = 0; i < G_N_ELEMENTS(edges); i++) {
		other[edges[i]] = 'q';
		expected[edges[i]] = 'x';
	}
	window_fixture_draw(fixture, &target, &source);
	window_fixture_map(fixture, 0, 0, LONG_BLOCKS);
	most_unfetched = 0;
	compare(fixture);
	window_fixture_assert_states(fixture, expected);
	g_assert_cmpuint(fixture->window->read_bytes, ==, 2 * LONG_BLOCKS * FIXTURE_BLOCK);
	g_assert_cmpuint(most_unfetched, ==, 0);
}

static void test_the_gaps_of_a_long_range_are_not_read(WindowFixture *fixture, const void *data)
{
	g_autofree char *target_places = g_strnfill(LONG_BLOCKS, 'a');
	g_autofree char *source_places = g_strnfill(LONG_BLOCKS, 'b');
	g_autofree char *content = g_strnfill(LONG_BLOCKS, 'p');
	g_autofree char *expected = g_strnfill(LONG_BLOCKS, '=');
	const Picture target = { content, target_places, 0 },
		      source = { content, source_places, 0 };

	for (size_t i = 0; i < G_N_ELEMENTS(edges); i++) {
		target_places[edges[i]] = '.';
		expected[edges[i]] = '-';
	}
	window_fixture_draw(fixture, &target, &source);
	window_fixture_map(fixture, 0, 0, LONG_BLOCKS);
	compare(fixture);
	window_fixture_assert_states(fixture, expected);
	g_assert_cmpuint(fixture->window->read_bytes, ==,
			 2 * (LONG_BLOCKS - G_N_ELEMENTS(edges)) * FIXTURE_BLOCK);
}

static void test_the_file_that_is_too_short_is_named(WindowFixture *fixture, const void *data)
{
	const Picture target = { "pqr", "aaa", 0 }, source = { "p", "bbb", 0 };
	OpenObject *unreadable = NULL;

	window_fixture_draw(fixture, &target, &source);
	window_fixture_map(fixture, 0, 1, 2);
	g_assert_cmpint(dedupe_window_compare(fixture->window, &unreadable), ==, READ_SHORT);
	g_assert_true(unreadable == fixture->source);

	window_fixture_move(fixture->target, "aaaa");
	window_fixture_move(fixture->source, "bbbb");
	window_fixture_map(fixture, 0, 3, 1);
	g_assert_cmpint(dedupe_window_compare(fixture->window, &unreadable), ==, READ_SHORT);
	g_assert_true(unreadable == fixture->target);
}

static void test_the_policies_decide_how_zeros_are_shared(WindowFixture *fixture, const void *data)
{
	static const struct {
		bool by_checksums;
		ReadPolicy read;
		ZerosPolicy zeros;
		bool keeps_zeros;
		bool is_all_wanted, zeros_are_data;
	} cases[] = {
		{ false, READ_POLICY_ALL, ZEROS_AUTO, false, false, false },
		{ false, READ_POLICY_ALL, ZEROS_HOLE, true, false, false },
		{ false, READ_POLICY_SAME_SIZE, ZEROS_AUTO, false, true, true },
		{ false, READ_POLICY_SAME_SIZE, ZEROS_AUTO, true, false, false },
		{ false, READ_POLICY_SAME_SIZE, ZEROS_HOLE, true, true, true },
		{ false, READ_POLICY_SAME_SIZE, ZEROS_KEEP, false, false, false },
		{ true, READ_POLICY_SAME_SIZE, ZEROS_AUTO, false, false, true },
		{ true, READ_POLICY_ALL, ZEROS_KEEP, false, false, true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const OpenObject target = { .keeps_zeros = cases[i].keeps_zeros };

		fixture->result.found_by_checksums = cases[i].by_checksums;
		fixture->settings.read = cases[i].read;
		fixture->settings.zeros = cases[i].zeros;
		dedupe_window_choose_zeros(fixture->window, &fixture->pass, &target);
		g_assert_cmpint(fixture->window->is_all_wanted, ==, cases[i].is_all_wanted);
		g_assert_cmpint(fixture->window->zeros_are_data, ==, cases[i].zeros_are_data);
	}
}

static void test_short_ranges_are_shared_beside_others_only(WindowFixture *fixture,
							    const void *data)
{
	/* Equal blocks, each after the other; a window of 8 blocks. */
	const Picture target = { "pqrstvwx", "aabaaaba", 0 };
	const Picture source = { "pqrstvwx", "bbbbbbbb", 0 };
	DedupeWindow *window = fixture->window;

	window_fixture_draw(fixture, &target, &source);
	window_fixture_map(fixture, 0, 0, 8);
	window_fixture_assert_states(fixture, "ccscccsc");
	/* At an end of the window, or beside blocks that are shared. */
	g_assert_true(dedupe_window_is_long_enough(window, 0, 1, 4));
	g_assert_true(dedupe_window_is_long_enough(window, 7, 8, 4));
	g_assert_true(dedupe_window_is_long_enough(window, 1, 2, 4));
	g_assert_true(dedupe_window_is_long_enough(window, 3, 4, 4));
	g_assert_true(dedupe_window_is_long_enough(window, 5, 6, 4));
	g_assert_false(dedupe_window_is_long_enough(window, 4, 5, 4));
	g_assert_true(dedupe_window_is_long_enough(window, 4, 5, 1));
	window->is_all_wanted = true;
	g_assert_true(dedupe_window_is_long_enough(window, 4, 5, 4));
}

#define ADD(name, test)                                                                            \
	g_test_add("/dedupe-window/" name, WindowFixture, NULL, window_fixture_set_up, test,       \
		   window_fixture_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	ADD("places-tell-what-can-be-shared", test_places_tell_what_can_be_shared);
	ADD("a-window-shows-a-part-of-both-files", test_a_window_shows_a_part_of_both_files);
	ADD("contents-are-compared", test_contents_are_compared);
	ADD("a-long-range-is-read-in-steps-and-fetched-ahead",
	    test_a_long_range_is_read_in_steps_and_fetched_ahead);
	ADD("the-gaps-of-a-long-range-are-not-read", test_the_gaps_of_a_long_range_are_not_read);
	ADD("the-file-that-is-too-short-is-named", test_the_file_that_is_too_short_is_named);
	ADD("the-policies-decide-how-zeros-are-shared",
	    test_the_policies_decide_how_zeros_are_shared);
	ADD("short-ranges-are-shared-beside-others-only",
	    test_short_ranges_are_shared_beside_others_only);

	return g_test_run();
}
