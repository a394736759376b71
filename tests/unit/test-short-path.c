/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/short-path.h"

#include <string.h>

#define LEVELS 30000

static void test_a_short_path_is_whole(void)
{
	g_autoptr(ShortPath) path = short_path_new();
	g_autofree char *below_root = NULL;
	g_autofree char *below_mount = NULL;

	short_path_prepend(path, "c");
	short_path_prepend(path, "b\xff");
	below_root = short_path_text(path, "/");
	below_mount = short_path_text(path, "/mnt");
	g_assert_cmpstr(below_root, ==, "/b\xff/c");
	g_assert_cmpstr(below_mount, ==, "/mnt/b\xff/c");
}

/* The longest that stays as it is, and one byte more. */
static void test_a_path_is_cut_where_it_is_too_long(void)
{
	const size_t others = SHORT_PATH_BYTES_MAX / 100 - 1;

	for (size_t more = 0; more < 2; more++) {
		g_autoptr(ShortPath) path = short_path_new();
		g_autofree char *name = g_strnfill(
			SHORT_PATH_BYTES_MAX - strlen("/mnt/") - others * 100 + more, 'x');
		g_autofree char *text = NULL;

		for (size_t i = 0; i < others; i++) {
			g_autofree char *other = g_strnfill(99, 'y');

			short_path_prepend(path, other);
		}
		short_path_prepend(path, name);
		text = short_path_text(path, "/mnt");
		g_assert_cmpuint(strlen(text), <=, SHORT_PATH_BYTES_MAX);
		if (more == 0)
			g_assert_cmpuint(strlen(text), ==, SHORT_PATH_BYTES_MAX);
		g_assert_true((strstr(text, "/…/") != NULL) == (more > 0));
	}
}

static void test_of_a_long_path_both_ends_stay(void)
{
	g_autoptr(ShortPath) path = short_path_new();
	g_autofree char *name = g_strnfill(250, 'd');
	g_autofree char *text = NULL;

	short_path_prepend(path, "file");
	for (int i = 0; i < LEVELS; i++)
		short_path_prepend(path, name);
	short_path_prepend(path, "top");
	text = short_path_text(path, "<FS_TREE>");

	g_assert_true(g_str_has_prefix(text, "<FS_TREE>/top/ddd"));
	g_assert_true(g_str_has_suffix(text, "ddd/file"));
	g_assert_nonnull(strstr(text, "d/…/d"));
	g_assert_cmpuint(strlen(text), <=, SHORT_PATH_BYTES_MAX);
	g_assert_cmpuint(strlen(text), >, SHORT_PATH_BYTES_MAX - 600);

	short_path_clear(path);
	short_path_prepend(path, "a");
	g_clear_pointer(&text, g_free);
	text = short_path_text(path, "");
	g_assert_cmpstr(text, ==, "/a");
}

static void test_a_text_is_cut_between_names(void)
{
	g_autofree char *long_name = g_strnfill(3 * SHORT_PATH_BYTES_MAX, 'n');
	g_autofree char *text = g_strconcat("/srv/", long_name, "/file", NULL);
	g_autofree char *cut = short_path_of(text);
	g_autofree char *escaped = short_path_escaped("/a\n");

	g_assert_cmpstr(cut, ==, "/srv/…/file");
	g_assert_cmpstr(escaped, ==, "/a\\n");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/short-path/a-short-path-is-whole", test_a_short_path_is_whole);
	g_test_add_func("/short-path/a-path-is-cut-where-it-is-too-long",
			test_a_path_is_cut_where_it_is_too_long);
	g_test_add_func("/short-path/of-a-long-path-both-ends-stay",
			test_of_a_long_path_both_ends_stay);
	g_test_add_func("/short-path/a-text-is-cut-between-names",
			test_a_text_is_cut_between_names);

	return g_test_run();
}
