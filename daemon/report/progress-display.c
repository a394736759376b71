/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/report/progress-display.h"

#include "common/text/name-text.h"
#include "common/text/size-text.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_USEC       (10 * G_USEC_PER_SEC)
#define COLUMNS_DEFAULT 80

/* An earlier rate means nothing. */
#define RATE_MIN_USEC (G_USEC_PER_SEC / 2)

struct ProgressDisplay {
	const Progress *progress;
	char *mount_point;
	bool is_terminal;
	bool is_shown; /* a line stands on the terminal */
	int stage;     /* shown last */
	int64_t shown_usec;
};

ProgressDisplay *progress_display_new(const Progress *progress, const char *mount_point)
{
	ProgressDisplay *display = g_new0(ProgressDisplay, 1);

	display->progress = progress;
	display->mount_point = name_text(mount_point, strlen(mount_point));
	display->is_terminal = isatty(STDERR_FILENO);
	display->stage = -1;
	return display;
}

void progress_display_free(ProgressDisplay *display)
{
	if (!display)
		return;

	progress_display_clear(display);
	g_free(display->mount_point);
	g_free(display);
}

static void append_remaining(GString *line, uint64_t seconds)
{
	if (seconds >= 3600)
		g_string_append_printf(line, ", %" G_GUINT64_FORMAT "h%02u left", seconds / 3600,
				       (unsigned)(seconds / 60 % 60));
	else
		g_string_append_printf(line, ", %u:%02u left", (unsigned)(seconds / 60),
				       (unsigned)(seconds % 60));
}

/* Append the bytes done, the rate and the remaining time, as far as they are known. */
static void append_bytes(GString *line, const Progress *progress)
{
	uint64_t total = atomic_load(&progress->total_bytes);
	uint64_t done = MIN(atomic_load(&progress->done_bytes), total);
	int64_t took_usec = g_get_monotonic_time() - atomic_load(&progress->stage_started_usec);
	g_autofree char *done_text = size_text(done);
	g_autofree char *total_text = size_text(total);
	g_autofree char *rate_text = NULL;
	double rate;

	g_string_append_printf(line, " %3u %%  %s of %s", (unsigned)(done * 100.0 / total),
			       done_text, total_text);
	if (took_usec < RATE_MIN_USEC || done == 0)
		return;

	rate = (double)done * G_USEC_PER_SEC / took_usec;
	rate_text = size_text((uint64_t)rate);
	g_string_append_printf(line, "  %s/s", rate_text);
	append_remaining(line, (uint64_t)((total - done) / rate));
}

static char *describe(const ProgressDisplay *display)
{
	const Progress *progress = display->progress;
	uint64_t freed = atomic_load(&progress->freed_bytes);
	int stage = atomic_load(&progress->stage);
	g_autoptr(GString) line = g_string_new(NULL);

	g_string_append_printf(line, "%s: %s", display->mount_point, stage_name(stage));
	if (stage == STAGE_WALK || stage == STAGE_COMPARE)
		g_string_append_printf(line, "  %" G_GUINT64_FORMAT " files",
				       atomic_load(&progress->files));
	else if (atomic_load(&progress->total_bytes) > 0)
		append_bytes(line, progress);

	if (freed > 0) {
		g_autofree char *freed_text = size_text(freed);

		g_string_append_printf(line, "  freed %s", freed_text);
	}

	return g_string_free(g_steal_pointer(&line), false);
}

static int terminal_columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return COLUMNS_DEFAULT;
}

void progress_display_update(ProgressDisplay *display)
{
	int64_t now_usec = g_get_monotonic_time();
	int stage = atomic_load(&display->progress->stage);
	g_autofree char *line = NULL;

	if (!display->is_terminal && stage == display->stage &&
	    now_usec - display->shown_usec < LINE_USEC)
		return;

	line = describe(display);
	if (display->is_terminal)
		fprintf(stderr, "\r\033[K%.*s", terminal_columns() - 1, line);
	else
		fprintf(stderr, "%s\n", line);

	display->is_shown = true;
	display->stage = stage;
	display->shown_usec = now_usec;
}

void progress_display_clear(ProgressDisplay *display)
{
	if (display->is_shown && display->is_terminal)
		fputs("\r\033[K", stderr);
	display->is_shown = false;
}
