/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/point-in-time.h"

#include "common/text/duration-text.h"
#include "common/text/usage-error.h"

#include <string.h>

/* The beginning of the day that @days before the one of @now_usec is. */
static int64_t midnight_usec(int64_t now_usec, int days)
{
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_local(now_usec / G_USEC_PER_SEC);
	g_autoptr(GDateTime) day = now ? g_date_time_add_days(now, -days) : NULL;
	g_autoptr(GDateTime) begin =
		day ? g_date_time_new_local(g_date_time_get_year(day), g_date_time_get_month(day),
					    g_date_time_get_day_of_month(day), 0, 0, 0)
		    : NULL;

	return begin ? g_date_time_to_unix(begin) * G_USEC_PER_SEC : 0;
}

/* @text as ISO 8601 has it, with what people leave out; NULL: it is no date. */
static GDateTime *date_of(const char *text)
{
	g_autoptr(GTimeZone) here = g_time_zone_new_local();
	g_autofree char *joined = g_strdelimit(g_strdup(text), " ", 'T');
	g_autofree char *full =
		strlen(text) == strlen("2026-11-21") ? g_strconcat(joined, "T00:00:00", NULL)
		: strlen(text) == strlen("2026-11-21 05:06") ? g_strconcat(joined, ":00", NULL)
							     : g_strdup(joined);

	return g_date_time_new_from_iso8601(full, here);
}

bool point_in_time_parse(const char *text, int64_t now_usec, int64_t *ret_usec, GError **error)
{
	g_autoptr(GDateTime) date = date_of(text);
	uint64_t ago_usec;

	if (strcmp(text, "today") == 0) {
		*ret_usec = midnight_usec(now_usec, 0);
	} else if (strcmp(text, "yesterday") == 0) {
		*ret_usec = midnight_usec(now_usec, 1);
	} else if (date) {
		*ret_usec = g_date_time_to_unix(date) * G_USEC_PER_SEC;
	} else if (duration_parse(text, &ago_usec, NULL) && ago_usec <= (uint64_t)now_usec) {
		*ret_usec = now_usec - (int64_t)ago_usec;
	} else {
		return usage_error_set(
			error,
			"%s is no time: '2026-11-21 05:06', today, yesterday, or how long ago, "
			"as 90min or 2d",
			text);
	}

	return true;
}
