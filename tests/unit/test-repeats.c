/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/repeats.h"

static Repeats *repeats_of(const char *letters, size_t least)
{
	Repeats *repeats = repeats_new(least);

	for (; *letters; letters++)
		repeats_add(repeats, (uint64_t)*letters);
	return repeats;
}

/* How many of the letters occurred, and from where on; "" if too few did. */
static char *find(const Repeats *repeats, const char *letters)
{
	uint64_t sums[16];
	size_t n = 0, at;

	for (; letters[n]; n++)
		sums[n] = (uint64_t)letters[n];
	n = repeats_find(repeats, sums, n, &at);
	return n == 0 ? g_strdup("") : g_strdup_printf("%zu from %zu", n, at);
}

static void assert_found(const Repeats *repeats, const char *letters, const char *expected)
{
	g_autofree char *found = find(repeats, letters);

	g_assert_cmpstr(found, ==, expected);
}

static void test_ranges_of_the_least_length_are_found(void)
{
	g_autoptr(Repeats) repeats = repeats_of("abcdefg", 3);

	assert_found(repeats, "abc", "3 from 0");
	assert_found(repeats, "efg", "3 from 4");
	assert_found(repeats, "cdex", "3 from 2");
	assert_found(repeats, "ab", "");
	assert_found(repeats, "abx", "");
	assert_found(repeats, "fgx", "");
	assert_found(repeats, "", "");
}

static void test_they_go_on_as_far_as_they_are_equal(void)
{
	g_autoptr(Repeats) repeats = repeats_of("abcdefg", 2);

	assert_found(repeats, "bcdefgh", "6 from 1");
	assert_found(repeats, "bcdxefg", "3 from 1");
}

static void test_of_equal_ranges_the_first_is_found(void)
{
	g_autoptr(Repeats) repeats = repeats_of("abcxabcdabc", 3);

	assert_found(repeats, "abc", "3 from 0");
	assert_found(repeats, "abcd", "3 from 0");
}

static void test_a_single_block_may_be_enough(void)
{
	g_autoptr(Repeats) repeats = repeats_of("ab", 1);
	g_autoptr(Repeats) none = repeats_new(1);

	assert_found(repeats, "b", "1 from 1");
	assert_found(none, "b", "");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/repeats/ranges-of-the-least-length-are-found",
			test_ranges_of_the_least_length_are_found);
	g_test_add_func("/repeats/they-go-on-as-far-as-they-are-equal",
			test_they_go_on_as_far_as_they_are_equal);
	g_test_add_func("/repeats/of-equal-ranges-the-first-is-found",
			test_of_equal_ranges_the_first_is_found);
	g_test_add_func("/repeats/a-single-block-may-be-enough", test_a_single_block_may_be_enough);
	return g_test_run();
}
