/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/progress-line.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_USEC G_USEC_PER_SEC
#define EVERY_USEC (G_USEC_PER_SEC / 2)
#define LOOK_USEC  (G_USEC_PER_SEC / 10)

/* When the verb began; 0: not yet. */
static int64_t begun_usec;

/* A verb that writes nothing for long would not notice. */
static void end_if_nobody_reads(ProgressLine *line)
{
	struct pollfd output = { .fd = STDOUT_FILENO };

	if (poll(&output, 1, 0) <= 0 || !(output.revents & POLLERR))
		return;

	progress_line_end(line);
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}

void progress_line_begin(void)
{
	if (begun_usec == 0)
		begun_usec = g_get_monotonic_time();
}

bool progress_line_is_due(ProgressLine *line)
{
	int64_t now_usec = g_get_monotonic_time();

	progress_line_begin();
	if (now_usec - line->looked_usec < LOOK_USEC)
		return false;

	line->looked_usec = now_usec;
	end_if_nobody_reads(line);
	return now_usec - begun_usec >= FIRST_USEC && now_usec - line->shown_usec >= EVERY_USEC &&
	       isatty(STDERR_FILENO);
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

void progress_line_clear(ProgressLine *line)
{
	if (line->shown_usec > 0)
		fputs("\r\033[K", stderr);
	line->shown_usec = 0;
}

void progress_line_end(ProgressLine *line)
{
	progress_line_clear(line);
	*line = (ProgressLine){ 0 };
}
