/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Plot - numbers as bars for a terminal, one column each.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	unsigned height; /* lines, at least 1 */
	bool utf8; /* blocks of eighths of a line; else '#', and '.' for less than half a line */
	const char *begin_colour; /* what switches it on and off, "" for none */
	const char *end_colour;
} PlotStyle;

uint64_t plot_largest(const uint64_t *values, size_t n_values); /* of none, 0 */

/*
 * The lines of the plot, from the top, NULL-terminated, to be freed with g_strfreev(): the largest of
 * @values takes all of the height, and what is not 0 can be seen.
 */
char **plot_lines(const uint64_t *values, size_t n_values, const PlotStyle *style);
