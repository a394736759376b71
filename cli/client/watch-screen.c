/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/watch-screen.h"

#include "cli/client/filesystem-status.h"
#include "cli/client/stage-pace.h"
#include "cli/terminal/bytes-text.h"
#include "cli/terminal/message.h"
#include "cli/terminal/plot.h"
#include "cli/terminal/time-text.h"

#include <string.h>

#define PLOT_HEIGHT 3
#define BAR_MOST    60

static char *size(const WatchView *view, uint64_t bytes)
{
	return bytes_text_with_unit(bytes, view->in_bytes);
}

static bool is_running(const DaemonFilesystem *filesystem)
{
	return filesystem->stage[0] != '\0';
}

bool watch_screen_is_busy(const GPtrArray *all)
{
	for (guint i = 0; i < all->len; i++)
		if (is_running(all->pdata[i]))
			return true;
	return false;
}

/* As much of @line as fits. */
static char *cut(const char *line, unsigned columns)
{
	g_autofree char *valid = g_utf8_make_valid(line, -1);
	unsigned used = 0;
	const char *at = valid;

	while (*at) {
		gunichar letter = g_utf8_get_char(at);

		used += g_unichar_iszerowidth(letter) ? 0 : g_unichar_iswide(letter) ? 2 : 1;
		if (used > columns)
			break;
		at = g_utf8_next_char(at);
	}

	return g_strndup(valid, (size_t)(at - valid));
}

static void add_line(const WatchView *view, GPtrArray *lines, const char *text)
{
	g_autofree char *safe = view->utf8 ? g_strdup(text) : message_terminal_text(text);

	g_ptr_array_add(lines, view->height > 0 ? cut(safe, view->width) : g_strdup(safe));
}

static void append_stage(const WatchView *view, GString *line, const DaemonFilesystem *filesystem)
{
	StagePace pace = stage_pace(filesystem, view->now_usec);
	g_autofree char *done = size(view, filesystem->stage_bytes);
	g_autofree char *total = size(view, filesystem->stage_total_bytes);
	g_autofree char *rate = size(view, pace.rate_bytes);
	g_autofree char *left = duration_text(pace.left_usec);
	g_autofree char *freed = size(view, filesystem->pass_freed_bytes);

	g_string_append_printf(line, "%s", filesystem->stage);
	if (filesystem->stage_total_bytes > 0)
		g_string_append_printf(line, "  %s of %s", done, total);
	else
		g_string_append_printf(line, "  %" G_GUINT64_FORMAT " files",
				       filesystem->stage_files);
	g_string_append_printf(line, "  %s%s  %s%s  freed %s", pace.has_rate ? rate : "-",
			       pace.has_rate ? "/s" : "", pace.has_left ? left : "-",
			       pace.has_left ? " left" : "", freed);
}

static void append_rest(const WatchView *view, GString *line, const DaemonFilesystem *filesystem)
{
	g_autofree char *why = filesystem_why_text(filesystem);
	g_autofree char *freed = size(view, filesystem->last_freed_bytes);
	g_autofree char *next = filesystem->waits_until_usec > 0
					? time_text_local((int64_t)filesystem->waits_until_usec)
					: NULL;

	g_string_append_printf(line, "%s%s%s", filesystem->state, why[0] != '\0' ? ": " : "", why);
	if (next)
		g_string_append_printf(line, "  until %s", next);
	if (filesystem->last_outcome[0] != '\0')
		g_string_append_printf(line, "  last pass %s, freed %s", filesystem->last_outcome,
				       freed);
}

static char *progress_text(const WatchView *view, const DaemonFilesystem *filesystem)
{
	uint64_t total = filesystem->stage_total_bytes;
	uint64_t done = MIN(filesystem->stage_bytes, total);
	unsigned columns = CLAMP(view->width, 20, BAR_MOST + 10) - 10;
	g_autofree char *bar = plot_bar_text(done, total, columns, view->utf8);
	g_autofree char *rest =
		g_strnfill(columns - (gsize)g_utf8_strlen(bar, -1), view->utf8 ? ' ' : '.');

	return g_strdup_printf("  [%s%s%s%s] %3.0f %%", view->coloured ? "\033[32m" : "", bar, rest,
			       view->coloured ? "\033[0m" : "",
			       100.0 * (double)done / (double)total);
}

static void add_filesystem(const WatchView *view, GPtrArray *lines,
			   const DaemonFilesystem *filesystem)
{
	const FilesystemStatus status = { .live = (DaemonFilesystem *)filesystem };
	g_autofree char *mount_point = message_text(filesystem->mount_point);
	g_autofree char *trouble = filesystem_status_trouble(&status);
	g_autoptr(GString) line = g_string_new(mount_point);

	g_string_append(line, "  ");
	if (is_running(filesystem))
		append_stage(view, line, filesystem);
	else
		append_rest(view, line, filesystem);
	add_line(view, lines, line->str);
	if (view->height > 0 && is_running(filesystem) && filesystem->stage_total_bytes > 0)
		g_ptr_array_add(lines, progress_text(view, filesystem));
	if (trouble) {
		g_autofree char *said = g_strconcat("  ! ", trouble, NULL);

		add_line(view, lines, said);
	}
}

static void add_plot(const WatchView *view, GPtrArray *lines, const char *what,
		     const uint64_t *rates, const char *colour)
{
	size_t n = MIN(view->samples->n, view->width);
	const uint64_t *from = rates + view->samples->n - n;
	uint64_t largest = plot_largest(from, n);
	const PlotStyle style = { PLOT_HEIGHT, view->utf8, view->coloured ? colour : "",
				  view->coloured ? "\033[0m" : "" };

	if (largest == 0)
		return;

	g_auto(GStrv) drawn = plot_lines(from, n, &style);
	g_autofree char *most = size(view, largest);
	g_autofree char *last = size(view, from[n - 1]);
	g_autofree char *heading =
		g_strdup_printf("%s: %s/s now, %s/s at most in what is drawn", what, last, most);

	g_ptr_array_add(lines, g_strdup(""));
	add_line(view, lines, heading);
	for (char **line = drawn; *line; line++)
		g_ptr_array_add(lines, g_strdup(*line));
}

/* Filesystems that do not fit are counted. */
static void keep_to_height(const WatchView *view, GPtrArray *lines)
{
	if (view->height == 0 || lines->len <= view->height)
		return;

	g_autofree char *more =
		g_strdup_printf("and %u lines more", lines->len - (view->height - 1));
	g_ptr_array_set_size(lines, (int)view->height - 1);
	add_line(view, lines, more);
}

char **watch_screen_lines(const WatchView *view)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < view->all->len; i++)
		add_filesystem(view, lines, view->all->pdata[i]);
	if (view->all->len == 0)
		add_line(view, lines, "The service deduplicates no filesystem.");
	if (view->height > 0) {
		add_plot(view, lines, "asked of disks", view->samples->read_rates, "\033[34m");
		add_plot(view, lines, "freed", view->samples->freed_rates, "\033[32m");
	}
	keep_to_height(view, lines);

	g_ptr_array_set_free_func(lines, NULL);
	g_ptr_array_add(lines, NULL);
	return (char **)g_ptr_array_free(g_steal_pointer(&lines), FALSE);
}
