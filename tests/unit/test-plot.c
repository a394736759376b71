/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/plot.h"

#include <glib.h>

static const PlotStyle ascii = { 2, false, "", "" };
static const PlotStyle blocks = { 2, true, "", "" };

static void assert_plot(const uint64_t *values, size_t n_values, const PlotStyle *style,
			const char *upper, const char *lower)
{
	g_auto(GStrv) lines = plot_lines(values, n_values, style);

	g_assert_cmpuint(g_strv_length(lines), ==, 2);
	g_assert_cmpstr(lines[0], ==, upper);
	g_assert_cmpstr(lines[1], ==, lower);
}

static void test_the_largest_takes_all_of_the_height(void)
{
	static const uint64_t values[] = { 0, 16, 8, 4, 12 };

	assert_plot(values, 5, &ascii, " #  #", " ####");
	assert_plot(values, 5, &blocks, " █  ▄", " ██▄█");
}

static void test_what_is_not_zero_can_be_seen(void)
{
	static const uint64_t values[] = { UINT64_MAX, 1, 0 };

	assert_plot(values, 3, &ascii, "#  ", "#. ");
	assert_plot(values, 3, &blocks, "█  ", "█▁ ");
}

static void test_nothing_but_zeros_is_blank(void)
{
	static const uint64_t values[] = { 0, 0 };

	assert_plot(values, 2, &ascii, "  ", "  ");
	assert_plot(values, 0, &blocks, "", "");
}

static void test_a_line_has_its_colour(void)
{
	static const PlotStyle coloured = { 2, false, "<", ">" };
	static const uint64_t values[] = { 1 };

	assert_plot(values, 1, &coloured, "<#>", "<#>");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/plot/largest", test_the_largest_takes_all_of_the_height);
	g_test_add_func("/plot/small", test_what_is_not_zero_can_be_seen);
	g_test_add_func("/plot/zeros", test_nothing_but_zeros_is_blank);
	g_test_add_func("/plot/colour", test_a_line_has_its_colour);

	return g_test_run();
}
