/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/ignore-rules.h"

#include <string.h>

static void test_patterns_mean_what_they_mean_to_git(void)
{
	static const struct {
		const char *patterns; /* one a line */
		const char *path;     /* with a slash at its end: a directory */
		bool ignored;
	} cases[] = {
		/* Without a slash: at any depth. */
		{ "*.tmp", "a.tmp", true },
		{ "*.tmp", "b/c/a.tmp", true },
		{ "*.tmp", "b.tmp/c", false },
		{ "cache", "a/cache/", true },
		{ "cache", "a/caches", false },
		{ "*", ".hidden", true },
		{ "?", "a/b", true },
		{ "[ab]", "a", true },
		{ "[!ab]", "a", false },
		{ "\\*", "a/*", true },
		{ "\\*", "a/b", false },
		{ "\\!x", "!x", true },
		{ "a b", "x/a b", true },
		/* With one at the beginning or within: from the top. */
		{ "/a", "a", true },
		{ "/a", "b/a", false },
		{ "a/b", "a/b", true },
		{ "a/b", "x/a/b", false },
		{ "/a/b", "a/b", true },
		{ "/a/*", "a/b", true },
		{ "/a/*", "a/b/c", false },
		{ "a*b", "a/b", false },
		{ "a/?b", "a/b", false },
		/* With one at its end: directories. */
		{ "a/", "a/", true },
		{ "a/", "a", false },
		{ "a/", "x/a/", true },
		{ "/a/", "x/a/", false },
		{ "a/b/", "a/b/", true },
		{ "a/b/", "a/b", false },
		{ "a//", "a/", true },
		/* Any number of directories. */
		{ "**/a", "a", true },
		{ "**/a", "x/y/a", true },
		{ "**/a/b", "x/a/b", true },
		{ "a/**", "a/", false },
		{ "a/**", "a/b", true },
		{ "a/**", "a/b/c", true },
		{ "a/**", "x/a/b", false },
		{ "a/**/b", "a/b", true },
		{ "a/**/b", "a/x/y/b", true },
		{ "a/**/b", "a/x/y/c", false },
		{ "a/**/b/**/c", "a/x/b/y/b/z/c", true },
		{ "a/**/b/**/c", "a/x/c/b", false },
		{ "a/**/b/c", "a/b/x/b/c", true },
		{ "**", "a", true },
		{ "a**b", "axxb", true },
		{ "a**b", "a/b", false },
		/* The last that matches decides. */
		{ "*.tmp\n!keep.tmp", "x/keep.tmp", false },
		{ "!keep.tmp\n*.tmp", "x/keep.tmp", true },
		{ "*.tmp\n!keep.tmp\n/x/keep.tmp", "x/keep.tmp", true },
		{ "/*\n!/home/", "home/", false },
		{ "/*\n!/home/", "home", true },
		{ "/*\n!/home/", "srv/", true },
		{ "/*\n!/home/", "home/a", false },
		{ "!a", "a", false },
		/* Patterns without a meaning. */
		{ "/", "a/", false },
		{ "!", "a", false },
		{ "!/", "a", false },
		{ "", "a", false },
		{ "[", "a", false },
		/* Names are bytes. */
		{ "\xff*", "a/\xff\xfe", true },
		{ "*.\xfe", "a.\xfe", true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GStrv) patterns = g_strsplit(cases[i].patterns, "\n", -1);
		g_autoptr(IgnoreRules) rules = ignore_rules_new(patterns, NULL);
		bool is_directory = g_str_has_suffix(cases[i].path, "/");
		g_autofree char *path = g_strdup(cases[i].path);

		if (is_directory)
			*strrchr(path, '/') = '\0';
		if (ignore_rules_ignore(rules, path, is_directory) != cases[i].ignored)
			g_error("\"%s\" on %s", cases[i].patterns, cases[i].path);
	}
}

static void test_an_absolute_path_below_the_top_is_taken_as_one(void)
{
	static const struct {
		const char *pattern, *top, *path;
		bool ignored;
	} cases[] = {
		{ "/mnt/pool/.snapshots", "/mnt/pool", ".snapshots/", true },
		{ "/mnt/pool/.snapshots/", "/mnt/pool", ".snapshots/", true },
		{ "/mnt/pool/a/*.iso", "/mnt/pool", "a/x.iso", true },
		{ "/mnt/pool/a/*.iso", "/mnt/pool", "b/a/x.iso", false },
		/* Its other meaning stays. */
		{ "/mnt/pool/a", "/mnt/pool", "mnt/pool/a", true },
		{ "/mnt/pool2/a", "/mnt/pool", "2/a", false },
		{ "/mnt/pool", "/mnt/pool", "a", false },
		{ "/mnt/pool/", "/mnt/pool", "a/", false },
		{ "mnt/pool/a", "/mnt/pool", "a", false },
		{ "/a", "/", "a", true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GStrv) patterns = g_strsplit(cases[i].pattern, "\n", -1);
		g_autoptr(IgnoreRules) rules = ignore_rules_new(patterns, cases[i].top);
		bool is_directory = g_str_has_suffix(cases[i].path, "/");

		if (ignore_rules_ignore(rules, cases[i].path, is_directory) != cases[i].ignored)
			g_error("\"%s\" on %s", cases[i].pattern, cases[i].path);
	}
}

static void test_patterns_that_matched_nothing_are_named(void)
{
	g_auto(GStrv) patterns = g_strsplit("a\n*.iso\n!b.iso\n/s/c\n/nothing\n/", "\n", -1);
	g_autoptr(IgnoreRules) rules = ignore_rules_new(patterns, "/s");
	g_autoptr(GPtrArray) unmatched = g_ptr_array_new();

	/* One that another one overrules has matched, too. */
	g_assert_false(ignore_rules_ignore(rules, "b.iso", false));
	g_assert_true(ignore_rules_ignore(rules, "c", false));
	ignore_rules_add_unmatched(rules, unmatched);

	g_assert_cmpuint(unmatched->len, ==, 2);
	g_assert_cmpstr(unmatched->pdata[0], ==, "a");
	g_assert_cmpstr(unmatched->pdata[1], ==, "/nothing");
}

static void test_without_patterns_nothing_is_ignored(void)
{
	g_autoptr(IgnoreRules) rules = ignore_rules_new(NULL, NULL);

	g_assert_cmpuint(ignore_rules_count(rules), ==, 0);
	g_assert_false(ignore_rules_ignore(rules, "a", false));
	ignore_rules_free(NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/ignore-rules/patterns-mean-what-they-mean-to-git",
			test_patterns_mean_what_they_mean_to_git);
	g_test_add_func("/ignore-rules/absolute-path",
			test_an_absolute_path_below_the_top_is_taken_as_one);
	g_test_add_func("/ignore-rules/unmatched", test_patterns_that_matched_nothing_are_named);
	g_test_add_func("/ignore-rules/without-patterns-nothing-is-ignored",
			test_without_patterns_nothing_is_ignored);

	return g_test_run();
}
