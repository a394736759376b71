/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * SvgChart - bars with bounds, in groups, as an SVG image of its own.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	const char *label;
	uint64_t value;
	uint64_t low; /* what the bar may be at least and at most; equal to @value: for sure */
	uint64_t high;
} SvgBar;

typedef struct {
	const char *title;
	const SvgBar *bars;
	size_t n_bars;
} SvgPanel;

/* The text of the image, in UTF-8; what XML cannot have in @title and labels is replaced. */
char *svg_chart(const char *title, const SvgPanel *panels, size_t n_panels);
