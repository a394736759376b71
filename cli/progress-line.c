/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/progress-line.h"

#include <stdio.h>
#include <unistd.h>

#define EVERY_USEC (G_USEC_PER_SEC / 2)

bool progress_line_is_due(const ProgressLine *line)
{
	return g_get_monotonic_time() - line->shown_usec >= EVERY_USEC && isatty(STDERR_FILENO);
}

void progress_line_show(ProgressLine *line, const char *format, ...)
{
	va_list arguments;

	line->shown_usec = g_get_monotonic_time();
	fputc('\r', stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("\033[K", stderr);
}

void progress_line_end(ProgressLine *line)
{
	if (line->shown_usec > 0)
		fputs("\r\033[K", stderr);
	line->shown_usec = 0;
}
