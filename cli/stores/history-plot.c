/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/history-plot.h"

#include "cli/terminal/bytes-text.h"
#include "cli/terminal/message.h"
#include "cli/terminal/pass-text.h"
#include "cli/terminal/plot.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/time-text.h"

#include <stdio.h>
#include <string.h>

#define HEIGHT 8

/* The plotted values of passes, the oldest first. */
typedef struct {
	GArray *freed; /* uint64_t */
	GArray *read;
	int64_t first_usec, last_usec;
	uint64_t n_passes; /* that there are */
} Series;

static void series_clear(Series *series)
{
	g_array_unref(series->freed);
	g_array_unref(series->read);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Series, series_clear)

static void take_pass(Series *series, const PassRecord *pass, unsigned most)
{
	uint64_t read_bytes = pass->finding_bytes + pass->compare_bytes;

	if (series->n_passes++ == 0)
		series->last_usec = pass->started_usec;
	if (series->freed->len >= most)
		return;
	g_array_prepend_val(series->freed, pass->freed_bytes);
	g_array_prepend_val(series->read, read_bytes);
	series->first_usec = pass->started_usec;
}

/* Passes come newest first. */
static bool read_passes(HashStore *store, unsigned most, Series *series, GError **error)
{
	g_autoptr(PassCursor) cursor = pass_cursor_open(store, error);
	const PassRecord *pass;

	if (!cursor)
		return false;
	while (true) {
		if (!pass_cursor_next(cursor, &pass, error))
			return false;
		if (!pass)
			return true;
		take_pass(series, pass, most);
	}
}

static void print_plot(const char *what, const GArray *numbers, const char *colour, bool in_bytes)
{
	const uint64_t *values = (const uint64_t *)(const void *)numbers->data;
	g_autofree char *most = bytes_text(plot_largest(values, numbers->len), in_bytes);
	uint64_t sum = 0;

	for (guint i = 0; i < numbers->len; i++)
		sum += values[i];
	g_autofree char *all = bytes_text(sum, in_bytes);

	printf("\n%s: %s in these passes, %s at most\n", what, all, most);
	plot_print(values, numbers->len, HEIGHT, colour, most);
}

/* Days below the first column and the last. */
static void print_days(const Series *series)
{
	g_autofree char *first = time_text_local(series->first_usec);
	g_autofree char *last = time_text_local(series->last_usec);
	size_t day = strlen("2026-11-21");

	/* A damaged store may have invalid dates. */
	if (!first || !last)
		return;
	first[MIN(day, strlen(first))] = '\0';
	last[MIN(day, strlen(last))] = '\0';
	if (series->freed->len >= 2 * day + 1)
		printf("%*s %s%*s\n", PLOT_LABEL_COLUMNS - 1, "", first,
		       (int)(series->freed->len - day), last);
	else if (strcmp(first, last) == 0)
		printf("%*s %s\n", PLOT_LABEL_COLUMNS - 1, "", first);
	else
		printf("%*s %s to %s\n", PLOT_LABEL_COLUMNS - 1, "", first, last);
}

bool history_plot_print(const StoreEntry *entry, bool in_bytes, GError **error)
{
	g_auto(Series) series = {
		.freed = g_array_new(false, false, sizeof(uint64_t)),
		.read = g_array_new(false, false, sizeof(uint64_t)),
	};
	g_autofree char *mount_point = pass_mount_point(&entry->last_pass);
	g_autofree char *where = message_terminal_text(
		entry->has_pass ? mount_point : hash_store_about(entry->store)->uuid);

	if (!read_passes(entry->store, terminal_width() - PLOT_LABEL_COLUMNS, &series, error))
		return false;
	if (series.n_passes == 0) {
		printf("%s: no pass is remembered\n", where);
		return true;
	}

	printf("%s: the last %u of %" G_GUINT64_FORMAT " passes\n", where, series.freed->len,
	       series.n_passes);
	print_plot("freed", series.freed, "\033[32m", in_bytes);
	print_plot("read", series.read, "\033[34m", in_bytes);
	print_days(&series);
	return true;
}
