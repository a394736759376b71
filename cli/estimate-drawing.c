/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate-drawing.h"

#include "cli/message.h"
#include "cli/plot.h"
#include "cli/svg-chart.h"
#include "cli/terminal.h"
#include "daemon/size-text.h"

#include <stdio.h>

#define HEIGHT        6
#define LABEL_COLUMNS 10
#define BAR_COLUMNS   6
#define POINTS_MAX    5
#define PANELS        3

G_STATIC_ASSERT(ESTIMATE_BLOCK_SIZES <= POINTS_MAX);
G_STATIC_ASSERT(ESTIMATE_WINDOWS <= POINTS_MAX);
G_STATIC_ASSERT(ESTIMATE_SAMPLINGS <= POINTS_MAX);

/* One curve. */
typedef struct {
	const char *title;
	char labels[POINTS_MAX][BAR_COLUMNS];
	Bounded points[POINTS_MAX];
	size_t n_points;
} Curve;

static void set_label(Curve *curve, size_t point, uint64_t number, bool is_size)
{
	const char *unit = !is_size ? "" : number >= 1 << 20 ? "M" : "K";
	uint64_t divisor = !is_size ? 1 : number >= 1 << 20 ? 1 << 20 : 1 << 10;

	g_snprintf(curve->labels[point], BAR_COLUMNS, "%" G_GUINT64_FORMAT "%s", number / divisor,
		   unit);
}

static void take_curves(const Estimate *estimate, Curve ret[PANELS])
{
	ret[0] = (Curve){ .title = "fixed blocks of a size", .n_points = ESTIMATE_BLOCK_SIZES };
	for (size_t i = 0; i < ESTIMATE_BLOCK_SIZES; i++) {
		set_label(&ret[0], i, estimate_block_bytes[i], true);
		ret[0].points[i] = estimate->blocks[i];
	}

	ret[1] = (Curve){ .title = "runs, by window of anchors", .n_points = ESTIMATE_WINDOWS };
	for (size_t i = 0; i < ESTIMATE_WINDOWS; i++) {
		set_label(&ret[1], i, estimate_windows[i], false);
		ret[1].points[i] = estimate->ways[i];
	}

	ret[2] = (Curve){ .title = "runs, keeping one digest in", .n_points = ESTIMATE_SAMPLINGS };
	for (unsigned i = 0; i < ESTIMATE_SAMPLINGS; i++) {
		set_label(&ret[2], i, estimate_samplings[i], false);
		ret[2].points[i] =
			estimate->ways[estimate_way_of_sampling(i, estimate->usual_window)];
	}
}

/* Each bar is as wide as a label. */
static void print_curve(const Curve *curve)
{
	bool coloured = terminal_takes_colours();
	const PlotStyle style = {
		.height = HEIGHT,
		.utf8 = terminal_takes_utf8(),
		.begin_colour = coloured ? "\033[32m" : "",
		.end_colour = coloured ? "\033[0m" : "",
	};
	uint64_t values[POINTS_MAX * BAR_COLUMNS] = { 0 };
	uint64_t largest = 0;

	for (size_t i = 0; i < curve->n_points; i++) {
		for (size_t j = 1; j < BAR_COLUMNS - 1; j++)
			values[i * BAR_COLUMNS + j] = curve->points[i].bytes;
		largest = MAX(largest, curve->points[i].bytes);
	}
	g_autofree char *most = size_text(largest);
	g_auto(GStrv) lines = plot_lines(values, curve->n_points * BAR_COLUMNS, &style);

	printf("\n%s\n", curve->title);
	for (unsigned i = 0; i < HEIGHT; i++)
		printf("%*s %s\n", LABEL_COLUMNS - 1,
		       i == 0            ? most
		       : i == HEIGHT - 1 ? "0"
					 : "",
		       lines[i]);
	printf("%*s ", LABEL_COLUMNS - 1, "");
	for (size_t i = 0; i < curve->n_points; i++)
		printf("%*s ", BAR_COLUMNS - 1, curve->labels[i]);
	putchar('\n');
}

void estimate_drawing_print(const EstimateSubject *subject, const Estimate *estimate)
{
	g_autofree char *where = message_terminal_text(subject->mount_point);
	Curve curves[PANELS];

	take_curves(estimate, curves);
	printf("\n%s: what could be freed\n", where);
	for (size_t i = 0; i < PANELS; i++)
		print_curve(&curves[i]);
}

char *estimate_drawing_svg(const EstimateSubject *subject, const Estimate *estimate)
{
	g_autofree char *title = g_strdup_printf("%s: what could be freed", subject->mount_point);
	SvgBar bars[PANELS][POINTS_MAX];
	SvgPanel panels[PANELS];
	Curve curves[PANELS];

	take_curves(estimate, curves);
	for (size_t i = 0; i < PANELS; i++) {
		panels[i] = (SvgPanel){ curves[i].title, bars[i], curves[i].n_points };
		for (size_t j = 0; j < curves[i].n_points; j++) {
			const Bounded *point = &curves[i].points[j];

			bars[i][j] = (SvgBar){ curves[i].labels[j], point->bytes, point->low,
					       point->high };
		}
	}

	return svg_chart(title, panels, PANELS);
}
