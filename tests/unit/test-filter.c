/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/filter.h"

#include <locale.h>
#include <string.h>

static void test_globs_match_names_and_paths(void)
{
	static const struct {
		const char *glob;
		const char *path; /* the last two components are below the start of the walk */
		bool excluded;
	} cases[] = {
		/* Without a slash: the last component. */
		{ "*.tmp", "/srv/a/b.tmp", true },
		{ "*.tmp", "/srv/b.tmp/c", false },
		{ "b", "/srv/a/b", true },
		{ "b", "/srv/a/bb", false },
		{ "b", "/srv/b/a", false },
		{ "*", "/srv/a/.hidden", true },
		{ "?", "/srv/a/b", true },
		{ "[ab]", "/srv/x/b", true },
		{ "[!ab]", "/srv/x/b", false },
		{ "\\*", "/srv/x/*", true },
		{ "\\*", "/srv/x/b", false },
		{ "B", "/srv/a/b", false },
		/* "tmp/" means the directory tmp. */
		{ "b/", "/srv/a/b", true },
		{ "b//", "/srv/a/b", true },
		/* With a slash: the absolute path, or that below the walk's beginning. */
		{ "/srv/a/b", "/srv/a/b", true },
		{ "/srv/a/b/", "/srv/a/b", true },
		{ "/srv/a", "/srv/a/b", false },
		{ "a/b", "/srv/a/b", true },
		{ "srv/a/b", "/srv/a/b", false },
		{ "/a/b", "/srv/a/b", false },
		{ "*/b", "/srv/a/b", true },
		/* `*` stops at no slash. */
		{ "/srv/*", "/srv/a/b", true },
		{ "/*/b", "/srv/a/x/b", true },
		{ "a*b/", "/srv/a/a-b", true },
		{ "a/*", "/srv/a/b", true },
		{ "/", "/srv/a/b", false },
		{ "", "/srv/a/b", false },
		{ "[", "/srv/a/b", false },
		{ "[", "/srv/a/[", true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		char *globs[] = { (char *)cases[i].glob, NULL };
		g_autoptr(Filter) filter = filter_new(globs, 0);
		g_autofree char *name = g_path_get_basename(cases[i].path);
		g_autofree char *directory = g_path_get_dirname(cases[i].path);
		const char *relative = strrchr(directory, '/') + 1 - directory + cases[i].path;

		if (filter_excludes(filter, cases[i].path, relative, name) != cases[i].excluded)
			g_error("\"%s\" on %s", cases[i].glob, cases[i].path);
	}
}

static void test_bytes_that_are_no_text_are_matched(void)
{
	static const char *const locales[] = { "C", "C.UTF-8" };
	char *globs[] = { (char *)"*.tmp", (char *)"\xfe*", (char *)"x\xc3\xa4?", NULL };

	for (size_t i = 0; i < G_N_ELEMENTS(locales); i++) {
		g_autoptr(Filter) filter = filter_new(globs, 0);

		g_assert_nonnull(setlocale(LC_ALL, locales[i]));
		g_assert_true(filter_excludes(filter, "/s/\xff.tmp", "\xff.tmp", "\xff.tmp"));
		g_assert_true(filter_excludes(filter, "/s/\xfe\xff", "\xfe\xff", "\xfe\xff"));
		g_assert_true(filter_excludes(filter, "/s/x\xc3\xa4y", "x\xc3\xa4y", "x\xc3\xa4y"));
		g_assert_false(filter_excludes(filter, "/s/\xff", "\xff", "\xff"));
	}
	setlocale(LC_ALL, "C");
}

static void test_globs_that_matched_nothing_are_named(void)
{
	char *globs[] = { (char *)"a", (char *)"b*", (char *)"/s/c", (char *)"?a", NULL };
	g_autoptr(Filter) filter = filter_new(globs, 0);

	{
		g_autofree const char **unmatched = filter_unmatched(filter);

		g_assert_cmpuint(g_strv_length((char **)unmatched), ==, 4);
	}

	/* More than one may match the same name. */
	g_assert_true(filter_excludes(filter, "/s/ba", "ba", "ba"));
	g_assert_false(filter_excludes(filter, "/s/d", "d", "d"));
	{
		g_autofree const char **unmatched = filter_unmatched(filter);

		g_assert_cmpstr(unmatched[0], ==, "a");
		g_assert_cmpstr(unmatched[1], ==, "/s/c");
		g_assert_null(unmatched[2]);
	}
}

static void test_no_globs_exclude_nothing(void)
{
	g_autoptr(Filter) filter = filter_new(NULL, 0);
	g_autofree const char **unmatched = filter_unmatched(filter);

	g_assert_false(filter_excludes(filter, "/s/a", "a", "a"));
	g_assert_null(unmatched[0]);
	filter_free(NULL);
}

static void test_the_least_size_itself_is_large_enough(void)
{
	static const struct {
		uint64_t min_size_bytes;
		uint64_t size_bytes;
		bool small;
	} cases[] = {
		{ 2048, 2047, true }, { 2048, 2048, false }, { 2048, 0, true },
		{ 0, 1, false },      { 0, 0, true }, /* an empty file has nothing to share */
		{ 1, 0, true },       { 1, 1, false },       { UINT64_MAX, UINT64_MAX - 1, true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(Filter) filter = filter_new(NULL, cases[i].min_size_bytes);

		g_assert_cmpint(filter_is_small(filter, cases[i].size_bytes), ==, cases[i].small);
	}
}

static void test_directories_below_the_beginning_exclude_what_is_in_them(void)
{
	static const struct {
		const char *glob;
		const char *root;
		const char *path;
		bool excluded;
	} cases[] = {
		{ "cache", "/srv", "/srv/a/cache/b/c", true },
		{ "cache", "/srv", "/srv/a/caches/b/c", false },
		{ "c", "/srv", "/srv/a/b/c", true },
		{ "*.c", "/srv", "/srv/a/b/c", false },
		{ "a/b", "/srv", "/srv/a/b/c", true },
		{ "b/c", "/srv", "/srv/a/b/c", false },
		{ "/srv/a", "/srv", "/srv/a/b/c", true },
		{ "/a", "/srv", "/srv/a/b/c", false },
		{ "a/*", "/srv", "/srv/a", false },
		/* The start of the walk is entered, whatever its name. */
		{ "srv", "/srv", "/srv/a", false },
		{ "/srv", "/srv", "/srv/a", false },
		{ "a", "/srv/a", "/srv/a/b", false },
		{ "a", "/", "/a/b", true },
		{ "/a", "/", "/a/b", true },
		{ "a/b", "/", "/a/b/c", true },
		{ "\xff", "/srv", "/srv/\xff/a", true },
		{ "x", "/srv", "/srv", false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		char *globs[] = { (char *)cases[i].glob, NULL };
		g_autoptr(Filter) filter = filter_new(globs, 0);

		if (filter_excludes_below(filter, cases[i].path, strlen(cases[i].root)) !=
		    cases[i].excluded)
			g_error("\"%s\" on %s below %s", cases[i].glob, cases[i].path,
				cases[i].root);
	}
}

static void test_patterns_begin_at_the_top_and_globs_exclude_besides(void)
{
	static const struct {
		const char *path; /* of a walk that began with /srv/a */
		bool is_directory;
		bool excluded;
	} cases[] = {
		{ "/srv/a/b", true, true },
		{ "/srv/a/b", false, false },
		{ "/srv/a/c", false, true },
		{ "/srv/a/x/c", false, false },
		{ "/srv/a/keep.tmp", false, false },
		{ "/srv/a/x.tmp", false, true },
		{ "/srv/a/glob.keep.tmp", false, true },
	};
	char *globs[] = { (char *)"glob*", NULL };
	char *patterns[] = { (char *)"/a/b/", (char *)"/a/c", (char *)"*.tmp", (char *)"!*keep.tmp",
			     NULL };
	static const char *const tops[] = { "/srv", "/" };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(Filter) filter = filter_new(globs, 0);
		const char *path = cases[i].path;
		const char *relative = path + strlen("/srv/a/");
		const char *name = strrchr(path, '/') + 1;

		filter_set_patterns(filter, patterns, tops[0]);
		if ((cases[i].is_directory
			     ? filter_excludes_directory(filter, path, relative, name)
			     : filter_excludes(filter, path, relative, name)) != cases[i].excluded)
			g_error("%s", path);
		/* Paths below / begin there, too. */
		filter_set_patterns(filter, patterns, tops[1]);
		g_assert_false(filter_excludes(filter, "/srv/a/c", "c", "c"));
		g_assert_true(filter_excludes(filter, "/a/c", "c", "c"));
	}
}

static void test_directories_that_patterns_exclude_are_seen_from_below(void)
{
	char *patterns[] = { (char *)"cache/", (char *)"!/keep/cache/", NULL };
	g_autoptr(Filter) filter = filter_new(NULL, 0);

	filter_set_patterns(filter, patterns, "/srv");
	g_assert_true(filter_excludes_below(filter, "/srv/a/cache/b", strlen("/srv")));
	g_assert_false(filter_excludes_below(filter, "/srv/keep/cache/b", strlen("/srv")));
	g_assert_false(filter_excludes_below(filter, "/srv/a/cache", strlen("/srv")));
	/* The start of the walk is entered, whatever its name. */
	g_assert_false(filter_excludes_below(filter, "/srv/a/cache/b", strlen("/srv/a/cache")));
	/* In another mount, patterns begin at the start of the walk. */
	g_assert_false(filter_excludes_below(filter, "/mnt/keep/cache/b", strlen("/mnt")));
	g_assert_true(filter_excludes_below(filter, "/mnt/x/keep/cache/b", strlen("/mnt")));
	/* And by which of them. */
	g_assert_cmpstr(filter_find_below(filter, "/srv/a/cache/b", strlen("/srv")), ==, "cache/");
	g_assert_null(filter_find_below(filter, "/srv/keep/cache/b", strlen("/srv")));
}

static void test_what_was_written_to_a_moment_ago_is_young(void)
{
	g_autoptr(Filter) filter = filter_new(NULL, 0);

	g_assert_false(filter_is_young(filter, 0));
	filter_set_young(filter, 100, 200);
	g_assert_false(filter_is_young(filter, 99));
	g_assert_true(filter_is_young(filter, 100));
	g_assert_true(filter_is_young(filter, 200));
	/* Its age is not known. */
	g_assert_false(filter_is_young(filter, 201));
	filter_set_young(filter, 200, 200);
	g_assert_false(filter_is_young(filter, 200));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/filter/directories-below-the-beginning-exclude-what-is-in-them",
			test_directories_below_the_beginning_exclude_what_is_in_them);
	g_test_add_func("/filter/patterns-begin-at-the-top-and-globs-exclude-besides",
			test_patterns_begin_at_the_top_and_globs_exclude_besides);
	g_test_add_func("/filter/directories-that-patterns-exclude-are-seen-from-below",
			test_directories_that_patterns_exclude_are_seen_from_below);
	g_test_add_func("/filter/what-was-written-to-a-moment-ago-is-young",
			test_what_was_written_to_a_moment_ago_is_young);
	g_test_add_func("/filter/globs-match-names-and-paths", test_globs_match_names_and_paths);
	g_test_add_func("/filter/bytes-that-are-no-text-are-matched",
			test_bytes_that_are_no_text_are_matched);
	g_test_add_func("/filter/globs-that-matched-nothing-are-named",
			test_globs_that_matched_nothing_are_named);
	g_test_add_func("/filter/no-globs-exclude-nothing", test_no_globs_exclude_nothing);
	g_test_add_func("/filter/the-least-size-itself-is-large-enough",
			test_the_least_size_itself_is_large_enough);

	return g_test_run();
}
