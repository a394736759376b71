/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * ProgressLine - how far a verb is that takes long: a line on standard error that is written over, twice a
 * second from one second after the verb began, where that is a terminal; else nothing.
 *
 * Thread: main.
 */
typedef struct {
	int64_t looked_usec; /* when standard output was looked at */
	int64_t shown_usec;  /* 0: never */
} ProgressLine;

/*
 * Whether to show it now.  To be called often: ends the process, as a write would, when standard output is a pipe
 * that nobody reads any more.
 */
bool progress_line_is_due(ProgressLine *line);

/* The verb begins; else it does when a line is asked first whether it is due. */
void progress_line_begin(void);

void progress_line_show(ProgressLine *line, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Take it off the terminal, until it is shown again. */
void progress_line_clear(ProgressLine *line);

/* Take it off, and begin anew. */
void progress_line_end(ProgressLine *line);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ProgressLine, progress_line_end)
