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
