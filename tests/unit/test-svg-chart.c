/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/svg-chart.h"

#include <glib.h>
#include <string.h>

typedef struct {
	unsigned n_rects;
	unsigned n_lines;
	GString *texts;
} Parsed;

static void take_element(GMarkupParseContext *context, const char *name, const char **names,
			 const char **values, void *data, GError **error)
{
	Parsed *parsed = data;

	parsed->n_rects += strcmp(name, "rect") == 0;
	parsed->n_lines += strcmp(name, "line") == 0;
}

static void take_text(GMarkupParseContext *context, const char *text, size_t length, void *data,
		      GError **error)
{
	Parsed *parsed = data;

	if (strcmp(g_markup_parse_context_get_element(context), "text") == 0)
		g_string_append_printf(parsed->texts, "[%.*s]", (int)length, text);
}

/* Well-formed, or the test ends. */
static Parsed parse(const char *svg)
{
	const GMarkupParser parser = { .start_element = take_element, .text = take_text };
	Parsed parsed = { .texts = g_string_new(NULL) };
	GMarkupParseContext *context = g_markup_parse_context_new(&parser, 0, &parsed, NULL);
	g_autoptr(GError) error = NULL;

	g_markup_parse_context_parse(context, svg, -1, &error);
	g_assert_no_error(error);
	g_markup_parse_context_end_parse(context, &error);
	g_assert_no_error(error);
	g_markup_parse_context_free(context);
	return parsed;
}

static void test_each_bar_is_there_with_its_size_and_label(void)
{
	const SvgBar bars[] = { { "4K", 4 << 20, 4 << 20, 4 << 20 }, { "1M", 0, 0, 0 } };
	const SvgPanel panels[] = { { "blocks", bars, 2 }, { "runs", bars, 1 } };
	g_autofree char *svg = svg_chart("/srv", panels, 2);
	Parsed parsed = parse(svg);

	/* One is the background. */
	g_assert_cmpuint(parsed.n_rects, ==, 1 + 3);
	g_assert_cmpuint(parsed.n_lines, ==, 0);
	g_assert_cmpstr(parsed.texts->str, ==,
			"[/srv][blocks][4 MiB][4K][0 B][1M][runs][4 MiB][4K]");
	g_string_free(parsed.texts, TRUE);
}

static void test_bounds_are_drawn_where_there_are_any(void)
{
	const SvgBar bars[] = { { "4K", 4096, 1024, 8192 }, { "16K", 4096, 4096, 4096 } };
	const SvgPanel panel = { "blocks", bars, 2 };
	g_autofree char *svg = svg_chart("/srv", &panel, 1);
	Parsed parsed = parse(svg);

	g_assert_cmpuint(parsed.n_lines, ==, 1);
	g_string_free(parsed.texts, TRUE);
}

static void test_hostile_names_stay_text(void)
{
	static const char hostile[] =
		"</text>&amp;<script>\"'\033[2J\n\177\xff\xc3\x28\xef\xbf\xbe";
	const SvgPanel panel = { "blocks", NULL, 0 };
	g_autofree char *svg = svg_chart(hostile, &panel, 1);
	Parsed parsed = parse(svg);

	g_assert_null(strstr(svg, "<script"));
	g_assert_true(g_utf8_validate(svg, -1, NULL));
	for (const char *c = svg; *c != '\0'; c++)
		g_assert_true((unsigned char)*c >= ' ' || *c == '\n');
	g_assert_null(strchr(svg, '\177'));
	g_assert_null(strstr(svg, "\xef\xbf\xbe"));
	g_string_free(parsed.texts, TRUE);
}

static void test_the_largest_bar_stays_in_its_panel(void)
{
	const SvgBar bar = { "4K", UINT64_MAX, 0, UINT64_MAX };
	const SvgPanel panel = { "blocks", &bar, 1 };
	g_autofree char *svg = svg_chart("/srv", &panel, 1);

	g_assert_nonnull(strstr(svg, "height=\"140\" class=\"bar\""));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/svg-chart/each-bar-is-there-with-its-size-and-label",
			test_each_bar_is_there_with_its_size_and_label);
	g_test_add_func("/svg-chart/bounds-are-drawn-where-there-are-any",
			test_bounds_are_drawn_where_there_are_any);
	g_test_add_func("/svg-chart/hostile-names-stay-text", test_hostile_names_stay_text);
	g_test_add_func("/svg-chart/the-largest-bar-stays-in-its-panel",
			test_the_largest_bar_stays_in_its_panel);
	return g_test_run();
}
