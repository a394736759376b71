/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/time-text.h"

#include <glib.h>

#define MSEC_USEC   INT64_C(1000)
#define SECOND_USEC INT64_C(1000000)
#define MINUTE_USEC (60 * SECOND_USEC)
#define HOUR_USEC   (60 * MINUTE_USEC)
#define DAY_USEC    (24 * HOUR_USEC)

/* A damaged store may have invalid dates. */
static char *format(GDateTime *time, const char *how)
{
	return time ? g_date_time_format(time, how) : NULL;
}

char *time_text_local(int64_t usec)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(usec / SECOND_USEC);

	return format(time, "%Y-%m-%d %H:%M:%S");
}

char *time_text_utc(int64_t usec)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(usec / SECOND_USEC);

	return format(time, "%Y-%m-%dT%H:%M:%SZ");
}

static char *two_units(int64_t usec, int64_t large_usec, const char *large, int64_t small_usec,
		       const char *small)
{
	return g_strdup_printf("%" G_GINT64_FORMAT " %s %02" G_GINT64_FORMAT " %s",
			       usec / large_usec, large, usec % large_usec / small_usec, small);
}

char *duration_text(int64_t usec)
{
	usec = MAX(usec, 0);

	if (usec < 10 * SECOND_USEC)
		return g_strdup_printf("%d.%02d s", (int)(usec / SECOND_USEC),
				       (int)(usec % SECOND_USEC / (10 * MSEC_USEC)));
	if (usec < MINUTE_USEC)
		return g_strdup_printf("%d.%d s", (int)(usec / SECOND_USEC),
				       (int)(usec % SECOND_USEC / (100 * MSEC_USEC)));
	if (usec < HOUR_USEC)
		return two_units(usec, MINUTE_USEC, "min", SECOND_USEC, "s");
	if (usec < DAY_USEC)
		return two_units(usec, HOUR_USEC, "h", MINUTE_USEC, "min");
	return two_units(usec, DAY_USEC, "d", HOUR_USEC, "h");
}

char *duration_seconds(int64_t usec)
{
	usec = MAX(usec, 0);

	return g_strdup_printf("%" G_GINT64_FORMAT ".%03d", usec / SECOND_USEC,
			       (int)(usec % SECOND_USEC / MSEC_USEC));
}
