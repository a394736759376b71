/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Plot - numbers as bars for a terminal, one column each.
 *
 * Pure, except for plot_print().  Thread: any.
 */
typedef struct {
	unsigned height; /* lines, at least 1 */
	bool utf8; /* blocks of eighths of a line; else '#', or '.' for less than half a line */
	const char *begin_colour; /* sequences that switch it on and off, "" for none */
	const char *end_colour;
} PlotStyle;

uint64_t plot_largest(const uint64_t *values, size_t n_values); /* 0 if there are none */

/*
 * The lines of the plot from the top, NULL-terminated, to be freed with g_strfreev().  The largest of @values
 * takes the whole height, and every nonzero value is visible.
 */
char **plot_lines(const uint64_t *values, size_t n_values, const PlotStyle *style);

/*
 * A number as a horizontal bar in a line of a table.  @largest takes all @width columns, and every nonzero
 * value is visible.  The bar is drawn in eighths of a column with @utf8, else in '#'.  To be freed.
 */
char *plot_bar_text(uint64_t value, uint64_t largest, unsigned width, bool utf8);

/* The width of a label and a blank, which precede a line of plot_print(). */
#define PLOT_LABEL_COLUMNS 15

/* Print the lines, beginning with @most and 0 as labels.  @colour is for terminals that take it. */
void plot_print(const uint64_t *values, size_t n_values, unsigned height, const char *colour,
		const char *most);
