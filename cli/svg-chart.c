/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/svg-chart.h"

#include "daemon/size-text.h"

#include <glib.h>

#define BAR_WIDTH    44
#define BAR_STEP     62
#define PANEL_HEIGHT 220
#define PANEL_TOP    60
#define LEFT         20
#define PLOT_HEIGHT  140
#define LABEL_ROOM   16

/* Text as XML may have it: control characters, which it may not, become blanks. */
static char *xml_text(const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);

	for (char *c = valid; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == '\177')
			*c = ' ';
	g_autofree char *escaped = g_markup_escape_text(valid, -1);
	/* U+FFFE and U+FFFF are no characters of XML. */
	g_auto(GStrv) parts = g_strsplit(escaped, "\xef\xbf\xbe", -1);
	g_autofree char *joined = g_strjoinv(" ", parts);
	g_auto(GStrv) rest = g_strsplit(joined, "\xef\xbf\xbf", -1);

	return g_strjoinv(" ", rest);
}

static void add_text(GString *svg, unsigned x, unsigned y, const char *class, const char *text)
{
	g_autofree char *escaped = xml_text(text);

	g_string_append_printf(svg, "<text x=\"%u\" y=\"%u\" class=\"%s\">%s</text>\n", x, y, class,
			       escaped);
}

static uint64_t largest_of(const SvgPanel *panels, size_t n_panels)
{
	uint64_t largest = 1;

	for (size_t i = 0; i < n_panels; i++)
		for (size_t j = 0; j < panels[i].n_bars; j++)
			largest =
				MAX(largest, MAX(panels[i].bars[j].value, panels[i].bars[j].high));
	return largest;
}

static unsigned height_of(uint64_t value, uint64_t largest)
{
	return (unsigned)((double)value / (double)largest * PLOT_HEIGHT + 0.5);
}

static void add_bar(GString *svg, const SvgBar *bar, unsigned x, unsigned bottom, uint64_t largest)
{
	unsigned height = height_of(bar->value, largest);
	unsigned middle = x + BAR_WIDTH / 2;
	g_autofree char *size = size_text(bar->value);

	g_string_append_printf(
		svg, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" class=\"bar\"/>\n", x,
		bottom - height, BAR_WIDTH, height);
	if (bar->low != bar->high)
		g_string_append_printf(
			svg, "<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\" class=\"bounds\"/>\n",
			middle, bottom - height_of(bar->low, largest), middle,
			bottom - height_of(bar->high, largest));
	add_text(svg, middle, bottom - height - 4, "size", size);
	add_text(svg, middle, bottom + LABEL_ROOM, "label", bar->label);
}

static unsigned width_of(const SvgPanel *panels, size_t n_panels)
{
	size_t most = 1;

	for (size_t i = 0; i < n_panels; i++)
		most = MAX(most, panels[i].n_bars);
	return MAX(LEFT * 2 + (unsigned)most * BAR_STEP, 420);
}

char *svg_chart(const char *title, const SvgPanel *panels, size_t n_panels)
{
	uint64_t largest = largest_of(panels, n_panels);
	unsigned width = width_of(panels, n_panels);
	unsigned height = PANEL_TOP + (unsigned)n_panels * PANEL_HEIGHT;
	GString *svg = g_string_new("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");

	g_string_append_printf(svg,
			       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
			       "height=\"%u\" viewBox=\"0 0 %u %u\">\n",
			       width, height, width, height);
	g_string_append(svg, "<style>text { font: 11px sans-serif; } .title { font-size: 15px; } "
			     ".size, .label { text-anchor: middle; } .bar { fill: #4a7fb5; } "
			     ".bounds { stroke: #222; stroke-width: 2; }</style>\n"
			     "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	add_text(svg, LEFT, 26, "title", title);
	for (size_t i = 0; i < n_panels; i++) {
		unsigned top = PANEL_TOP + (unsigned)i * PANEL_HEIGHT;

		add_text(svg, LEFT, top, "heading", panels[i].title);
		for (size_t j = 0; j < panels[i].n_bars; j++)
			add_bar(svg, &panels[i].bars[j], LEFT + (unsigned)j * BAR_STEP,
				top + PLOT_HEIGHT + 2 * LABEL_ROOM, largest);
	}

	g_string_append(svg, "</svg>\n");
	return g_string_free(svg, FALSE);
}
