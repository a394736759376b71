/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * ProgressLine - the progress of a long verb: a line on standard error that is overwritten twice a second, from
 * 1 s after the verb began.  It appears only on a terminal.
 *
 * Thread: main.
 */
typedef struct {
	int64_t looked_usec; /* when standard output was last checked */
	int64_t shown_usec;  /* 0: never */
} ProgressLine;

/*
 * Whether to show the line now.  Call it often: if standard output is a pipe without a reader, it ends the
 * process, as a write would.
 */
bool progress_line_is_due(ProgressLine *line);

/* Start the time of the verb.  Otherwise the first progress_line_is_due() starts it. */
void progress_line_begin(void);

void progress_line_show(ProgressLine *line, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Remove the line from the terminal, until it is shown again. */
void progress_line_clear(ProgressLine *line);

/* Remove the line, and reset it. */
void progress_line_end(ProgressLine *line);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ProgressLine, progress_line_end)
