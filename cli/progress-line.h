/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * ProgressLine - how far a verb is that takes long: a line on standard error that is written over, twice a
 * second, where that is a terminal; else nothing.
 *
 * Thread: main.
 */
typedef struct {
	int64_t shown_usec; /* 0: never, as it begins */
} ProgressLine;

/* Whether to show it now. */
bool progress_line_is_due(const ProgressLine *line);
void progress_line_show(ProgressLine *line, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Take it off the terminal. */
void progress_line_end(ProgressLine *line);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ProgressLine, progress_line_end)
