/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/time-window.h"

#include "common/text/name-text.h"
#include "common/text/usage-error.h"

#include <stdio.h>
#include <string.h>

#define DAY_MINUTES (24 * 60)
#define DAY_SECONDS (DAY_MINUTES * 60)
#define ALL_DAYS    0x7f

/* Every window opens once within these days, whatever the clocks do. */
#define DAYS_AHEAD 9

static const char *const weekday_names[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };

typedef struct {
	time_t open;
	time_t close;
} Span;

static bool refuse(const char *text, const char *why, GError **error)
{
	g_autofree char *shown = name_text(text, strlen(text));

	return usage_error_set(
		error,
		"\"%s\" is not a time window: %s (right would be 22:00-06:00, 09:00-17:30 "
		"Mon-Fri or Sat,Sun)",
		shown, why);
}

/* Parse "22:00" at *@text, and move *@text behind it. */
static bool take_time(const char **text, uint16_t *ret_minute)
{
	unsigned numbers[2] = { 0, 0 };

	for (unsigned i = 0; i < 2; i++) {
		unsigned digits = 0;

		for (; digits < 2 && g_ascii_isdigit(**text); digits++)
			numbers[i] = numbers[i] * 10 + (unsigned)(*(*text)++ - '0');
		if (digits < 1 + i || g_ascii_isdigit(**text))
			return false;
		if (i == 0 && *(*text)++ != ':')
			return false;
	}

	*ret_minute = (uint16_t)(numbers[0] * 60 + numbers[1]);
	return numbers[1] < 60 && *ret_minute <= DAY_MINUTES;
}

static bool take_weekday(const char **text, unsigned *ret)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(weekday_names); i++) {
		if (g_ascii_strncasecmp(*text, weekday_names[i], 3) != 0)
			continue;
		*ret = i;
		*text += 3;
		return !g_ascii_isalpha(**text);
	}

	return false;
}

/* Parse "Mon-Fri,Sun" up to the end of the text. */
static bool take_weekdays(const char *text, uint8_t *ret)
{
	*ret = 0;
	do {
		unsigned first, last;

		if (!take_weekday(&text, &first))
			return false;
		last = first;
		if (*text == '-') {
			text++;
			if (!take_weekday(&text, &last))
				return false;
		}
		for (unsigned day = first;; day = (day + 1) % 7) {
			*ret |= (uint8_t)(1u << day);
			if (day == last)
				break;
		}
	} while (*text++ == ',');

	return text[-1] == '\0';
}

/*
 * If @text has days before times, as systemd's calendars do: the text in the right order, to be
 * freed; otherwise NULL.
 */
static char *turned(const char *text)
{
	const char *blank = strchr(text, ' ');
	g_autofree char *days = blank ? g_strndup(text, (size_t)(blank - text)) : NULL;
	g_autofree char *times = NULL;
	TimeWindow ignored;

	if (!blank || g_ascii_isdigit(*text))
		return NULL;
	times = g_strchug(g_strdup(blank));
	g_autofree char *right = g_strconcat(times, " ", days, NULL);

	return g_ascii_isdigit(*times) && time_window_parse(right, &ignored, NULL)
		       ? g_steal_pointer(&right)
		       : NULL;
}

/* Report a text whose days are wrong. */
static bool refuse_days(const char *text, GError **error)
{
	g_autofree char *right = turned(text);
	g_autofree char *why =
		right ? g_strdup_printf("put days after the times: %s", right)
		      : g_strdup("its days are none of Mon, Tue, Wed, Thu, Fri, Sat, Sun");

	return refuse(text, why, error);
}

bool time_window_parse(const char *text, TimeWindow *ret, GError **error)
{
	TimeWindow window = { 0, DAY_MINUTES, ALL_DAYS };
	const char *at = text;

	if (g_ascii_isdigit(*at)) {
		if (!take_time(&at, &window.begin_minute) || *at++ != '-' ||
		    !take_time(&at, &window.end_minute) || (*at != ' ' && *at != '\0'))
			return refuse(text, "it does not begin with two times of a day", error);
		if (window.begin_minute == window.end_minute || window.begin_minute == DAY_MINUTES)
			return refuse(text, "it has no length", error);
		while (*at == ' ')
			at++;
	}
	if ((*at != '\0' || at == text) && !take_weekdays(at, &window.weekdays))
		return refuse_days(text, error);

	*ret = window;
	return true;
}

/* The local time at @at as a number that grows with it. */
static int64_t wall_clock(time_t at)
{
	struct tm local;

	localtime_r(&at, &local);
	return timegm(&local);
}

/*
 * The first moment at which clocks show @minute of the day @days after that of @now, or are set forward
 * beyond it.
 */
static time_t moment(time_t now, int days, unsigned minute)
{
	struct tm wanted;
	struct tm as_summer, as_winter;
	int64_t wall;
	time_t low, high;

	localtime_r(&now, &wanted);
	wanted.tm_mday += days;
	wanted.tm_hour = (int)minute / 60;
	wanted.tm_min = (int)minute % 60;
	wanted.tm_sec = 0;
	as_summer = as_winter = wanted;
	wall = timegm(&wanted);

	/*
	 * Take the first of a time that clocks show twice.  The two results for a time that they skip lie
	 * hours around the gap.
	 */
	as_summer.tm_isdst = 1;
	as_winter.tm_isdst = 0;
	low = mktime(&as_summer);
	high = mktime(&as_winter);
	if (high < low) {
		time_t other = low;

		low = high;
		high = other;
	}
	if (wall_clock(low) >= wall)
		return low;

	while (high - low > 1) {
		time_t middle = low + (high - low) / 2;

		if (wall_clock(middle) >= wall)
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* The span of @window on the day @days after that of @now; false if it has none on that day. */
static bool find_span(const TimeWindow *window, time_t now, int days, Span *ret)
{
	unsigned end = window->end_minute;
	struct tm local;
	int weekday;

	localtime_r(&now, &local);
	weekday = (local.tm_wday + 6 + days + 7) % 7;
	if (!(window->weekdays & 1u << weekday))
		return false;

	if (end <= window->begin_minute)
		end += DAY_MINUTES;
	ret->open = moment(now, days, window->begin_minute);
	ret->close = moment(now, days, end);
	return ret->open < ret->close;
}

/* The latest close of the windows that are open at @now; @now if none is. */
static time_t find_close(const GArray *windows, time_t now)
{
	time_t close = now;
	Span span;

	for (guint i = 0; i < windows->len; i++)
		for (int days = -1; days <= 0; days++)
			if (find_span(&g_array_index(windows, TimeWindow, i), now, days, &span) &&
			    span.open <= now && now < span.close)
				close = MAX(close, span.close);

	return close;
}

bool time_windows_are_open(const GArray *windows, time_t now)
{
	return !windows || windows->len == 0 || find_close(windows, now) > now;
}

/* The first opening after @now; @now: never. */
static time_t find_open(const GArray *windows, time_t now)
{
	time_t open = now;
	Span span;

	for (guint i = 0; i < windows->len; i++)
		for (int days = 0; days < DAYS_AHEAD; days++)
			if (find_span(&g_array_index(windows, TimeWindow, i), now, days, &span) &&
			    span.open > now && (open == now || span.open < open))
				open = span.open;

	return open;
}

bool time_windows_next_change(const GArray *windows, time_t now, time_t *ret)
{
	time_t end = now;

	if (!windows || windows->len == 0)
		return false;
	if (!time_windows_are_open(windows, now)) {
		*ret = find_open(windows, now);
		return *ret > now;
	}

	/* A close at which another window is open does not count. */
	while (end - now < DAYS_AHEAD * DAY_SECONDS) {
		time_t close = find_close(windows, end);

		if (close == end) {
			*ret = end;
			return true;
		}
		end = close;
	}
	return false;
}
