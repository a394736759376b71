/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-drawing.h"

#include "cli/terminal/message.h"
#include "cli/terminal/plot.h"
#include "cli/terminal/terminal.h"
#include "common/text/size-text.h"

#include <stdio.h>

#define HEIGHT        6
#define LABEL_COLUMNS 10
#define BAR_COLUMNS   6

typedef char Label[BAR_COLUMNS];

static void set_label(Label label, uint64_t bytes)
{
	bool is_large = bytes >= 1 << 20;

	g_snprintf(label, sizeof(Label), "%" G_GUINT64_FORMAT "%c", bytes >> (is_large ? 20 : 10),
		   is_large ? 'M' : 'K');
}

void estimate_drawing_print(const EstimateSubject *subject, const Estimate *estimate)
{
	g_autofree char *where = message_terminal_text(subject->mount_point);
	bool coloured = terminal_takes_colours();
	const PlotStyle style = {
		.height = HEIGHT,
		.utf8 = terminal_takes_utf8(),
		.begin_colour = coloured ? "\033[32m" : "",
		.end_colour = coloured ? "\033[0m" : "",
	};
	/* Each bar is as wide as a label. */
	uint64_t values[ESTIMATE_BLOCK_SIZES * BAR_COLUMNS] = { 0 };
	uint64_t largest = 0;

	for (size_t i = 0; i < ESTIMATE_BLOCK_SIZES; i++) {
		for (size_t j = 1; j < BAR_COLUMNS - 1; j++)
			values[i * BAR_COLUMNS + j] = estimate->blocks[i].bytes;
		largest = MAX(largest, estimate->blocks[i].bytes);
	}
	g_autofree char *most = size_text(largest);
	g_auto(GStrv) lines = plot_lines(values, G_N_ELEMENTS(values), &style);

	printf("\n%s: what fixed blocks of a size would free\n", where);
	for (unsigned i = 0; i < HEIGHT; i++)
		printf("%*s %s\n", LABEL_COLUMNS - 1,
		       i == 0            ? most
		       : i == HEIGHT - 1 ? "0"
					 : "",
		       lines[i]);
	printf("%*s ", LABEL_COLUMNS - 1, "");
	for (size_t i = 0; i < ESTIMATE_BLOCK_SIZES; i++) {
		Label label;

		set_label(label, estimate_block_bytes[i]);
		printf("%*s ", BAR_COLUMNS - 1, label);
	}
	putchar('\n');
}
