/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/plot.h"

#include "cli/terminal/terminal.h"

#include <glib.h>
#include <stdio.h>

#define EIGHTHS 8

uint64_t plot_largest(const uint64_t *values, size_t n_values)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < n_values; i++)
		largest = MAX(largest, values[i]);
	return largest;
}

/* The height of a bar, in eighths of a line. */
static unsigned bar_eighths(uint64_t value, uint64_t largest, unsigned height)
{
	if (value == 0)
		return 0;
	return MAX(1, (unsigned)((double)value / (double)largest * height * EIGHTHS + 0.5));
}

static const char *cell(unsigned eighths, bool utf8)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

	if (utf8)
		return blocks[MIN(eighths, EIGHTHS)];
	if (eighths == 0)
		return " ";
	return eighths < EIGHTHS / 2 ? "." : "#";
}

/* The part of a bar from the line @from_bottom upwards, in eighths of a line. */
static unsigned above(unsigned bar, unsigned from_bottom)
{
	return bar > from_bottom * EIGHTHS ? bar - from_bottom * EIGHTHS : 0;
}

static char *line_of(const uint64_t *values, size_t n_values, uint64_t largest,
		     unsigned from_bottom, const PlotStyle *style)
{
	GString *line = g_string_new(style->begin_colour);

	for (size_t i = 0; i < n_values; i++) {
		unsigned bar = bar_eighths(values[i], largest, style->height);

		g_string_append(line, cell(above(bar, from_bottom), style->utf8));
	}
	g_string_append(line, style->end_colour);
	return g_string_free(line, FALSE);
}

char **plot_lines(const uint64_t *values, size_t n_values, const PlotStyle *style)
{
	uint64_t largest = plot_largest(values, n_values);
	char **lines = g_new0(char *, style->height + 1);

	for (unsigned i = 0; i < style->height; i++)
		lines[i] = line_of(values, n_values, largest, style->height - 1 - i, style);
	return lines;
}

char *plot_bar_text(uint64_t value, uint64_t largest, unsigned width, bool utf8)
{
	static const char *const ends[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	const unsigned grain = utf8 ? EIGHTHS : 1;
	GString *bar = g_string_new(NULL);
	unsigned length;

	if (value == 0)
		return g_string_free(bar, FALSE);

	length = (unsigned)((double)value / (double)largest * width * grain + 0.5);
	length = MAX(length, 1);
	for (unsigned i = 0; i < length / grain; i++)
		g_string_append(bar, utf8 ? "█" : "#");
	g_string_append(bar, ends[length % grain]);
	return g_string_free(bar, FALSE);
}

void plot_print(const uint64_t *values, size_t n_values, unsigned height, const char *colour,
		const char *most)
{
	bool coloured = terminal_takes_colours();
	const PlotStyle style = { height, terminal_takes_utf8(), coloured ? colour : "",
				  coloured ? "\033[0m" : "" };
	g_auto(GStrv) lines = plot_lines(values, n_values, &style);

	for (unsigned i = 0; i < height; i++)
		printf("%*s %s\n", PLOT_LABEL_COLUMNS - 1,
		       i == 0            ? most
		       : i == height - 1 ? "0"
					 : "",
		       lines[i]);
}
