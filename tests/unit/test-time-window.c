/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/time-window.h"

#include <stdlib.h>
#include <string.h>

/* Clocks go forward at 02:00 on 29 March 2026, back at 03:00 on 25 October 2026. */
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"

static GArray *windows_of(const char *texts)
{
	GArray *windows = g_array_new(false, false, sizeof(TimeWindow));
	g_auto(GStrv) each = g_strsplit(texts, ";", -1);

	for (char **text = each; *text; text++) {
		g_autoptr(GError) error = NULL;
		TimeWindow window;

		if (!time_window_parse(*text, &window, &error))
			g_error("%s", error->message);
		g_array_append_val(windows, window);
	}

	return windows;
}

/* Parse "2026-11-21 05:06" in local time; " +" at the end means the second time that clocks show it. */
static time_t at(const char *text)
{
	struct tm wanted = { 0 }, local;
	time_t summer;

	g_assert_nonnull(strptime(text, "%Y-%m-%d %H:%M", &wanted));
	local = wanted;
	local.tm_isdst = 1;
	summer = mktime(&local);
	localtime_r(&summer, &local);
	if (!strchr(text, '+') && local.tm_hour == wanted.tm_hour && local.tm_min == wanted.tm_min)
		return summer;

	wanted.tm_isdst = strchr(text, '+') ? 0 : -1;
	return mktime(&wanted);
}

static void set_zone(const char *zone)
{
	g_setenv("TZ", zone, true);
	tzset();
}

static void test_windows_open_and_close(void)
{
	static const struct {
		const char *zone;
		const char *windows;
		const char *now;
		bool is_open;
		const char *change; /* NULL: never */
	} cases[] = {
		{ "UTC", "09:00-17:00", "2026-11-21 08:59", false, "2026-11-21 09:00" },
		{ "UTC", "09:00-17:00", "2026-11-21 09:00", true, "2026-11-21 17:00" },
		{ "UTC", "09:00-17:00", "2026-11-21 16:59", true, "2026-11-21 17:00" },
		{ "UTC", "09:00-17:00", "2026-11-21 17:00", false, "2026-11-22 09:00" },
		/* Across midnight. */
		{ "UTC", "22:00-06:00", "2026-11-21 23:30", true, "2026-11-22 06:00" },
		{ "UTC", "22:00-06:00", "2026-11-21 05:30", true, "2026-11-21 06:00" },
		{ "UTC", "22:00-06:00", "2026-11-21 06:00", false, "2026-11-21 22:00" },
		{ "UTC", "22:00-06:00", "2026-12-31 23:00", true, "2027-01-01 06:00" },
		{ "UTC", "22:00-24:00", "2026-11-21 23:59", true, "2026-11-22 00:00" },
		/* The 21st is a Saturday; a window belongs to the day on which it begins. */
		{ "UTC", "22:00-06:00 Fri", "2026-11-21 05:59", true, "2026-11-21 06:00" },
		{ "UTC", "22:00-06:00 Fri", "2026-11-20 05:59", false, "2026-11-20 22:00" },
		{ "UTC", "22:00-06:00 Fri", "2026-11-21 23:00", false, "2026-11-27 22:00" },
		{ "UTC", "22:00-06:00 Mon-Fri", "2026-11-22 23:00", false, "2026-11-23 22:00" },
		{ "UTC", "22:00-06:00 sat-mon", "2026-11-22 23:00", true, "2026-11-23 06:00" },
		{ "UTC", "Sat,Sun", "2026-11-21 00:00", true, "2026-11-23 00:00" },
		{ "UTC", "Sat", "2026-11-22 00:00", false, "2026-11-28 00:00" },
		/* Several windows. */
		{ "UTC", "01:00-02:00;04:00-05:00", "2026-11-21 01:00", true, "2026-11-21 02:00" },
		{ "UTC", "04:00-05:00;01:00-02:00", "2026-11-21 03:00", false, "2026-11-21 04:00" },
		{ "UTC", "01:00-03:00;02:00-05:00", "2026-11-21 01:00", true, "2026-11-21 05:00" },
		{ "UTC", "01:00-03:00;03:00-05:00", "2026-11-21 01:00", true, "2026-11-21 05:00" },
		{ "UTC", "22:00-06:00 Mon-Fri;Sat,Sun", "2026-11-20 23:00", true,
		  "2026-11-23 00:00" },
		{ "UTC", "00:00-24:00", "2026-11-21 01:00", true, NULL },
		{ "UTC", "Mon-Fri;Sat;Sun", "2026-11-21 01:00", true, NULL },
		/* Clocks go forward: the rest of the night is shorter. */
		{ BERLIN, "22:00-06:00", "2026-03-28 23:00", true, "2026-03-29 06:00" },
		{ BERLIN, "02:30-04:00", "2026-03-29 01:59", false, "2026-03-29 03:00" },
		{ BERLIN, "02:30-04:00", "2026-03-29 03:00", true, "2026-03-29 04:00" },
		{ BERLIN, "01:00-02:30", "2026-03-29 01:30", true, "2026-03-29 03:00" },
		/* The window does not exist on this day. */
		{ BERLIN, "02:10-02:50", "2026-03-29 01:59", false, "2026-03-30 02:10" },
		{ BERLIN, "02:10-02:50", "2026-03-29 03:00", false, "2026-03-30 02:10" },
		/* Clocks go back: the first of a time shown twice counts. */
		{ BERLIN, "22:00-06:00", "2026-10-24 23:00", true, "2026-10-25 06:00" },
		{ BERLIN, "01:00-02:30", "2026-10-25 01:30", true, "2026-10-25 02:30" },
		{ BERLIN, "01:00-02:30", "2026-10-25 02:10+", false, "2026-10-26 01:00" },
		{ BERLIN, "02:30-04:00", "2026-10-25 02:10", false, "2026-10-25 02:30" },
		{ BERLIN, "02:30-04:00", "2026-10-25 02:10+", true, "2026-10-25 04:00" },
		/* Winter is what differs; clocks that never change; half an hour only. */
		{ "IST-1GMT0,M10.5.0,M3.5.0/1", "22:00-06:00", "2026-07-01 23:00", true,
		  "2026-07-02 06:00" },
		{ "<+0545>-5:45", "22:00-06:00", "2026-07-01 21:59", false, "2026-07-01 22:00" },
		{ "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "02:15-03:00", "2026-10-04 01:59", false,
		  "2026-10-04 02:30" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GArray) windows = windows_of(cases[i].windows);
		time_t change = 0, wanted = 0, now;

		set_zone(cases[i].zone);
		now = at(cases[i].now);
		if (cases[i].change)
			wanted = at(cases[i].change);
		if (time_windows_are_open(windows, now) != cases[i].is_open)
			g_error("\"%s\" at %s", cases[i].windows, cases[i].now);
		if (time_windows_next_change(windows, now, &change) != (cases[i].change != NULL))
			g_error("\"%s\" at %s: never?", cases[i].windows, cases[i].now);
		if (cases[i].change && change != wanted)
			g_error("\"%s\" at %s: %s", cases[i].windows, cases[i].now, ctime(&change));
	}
}

/* A year, minute by minute, by local time, except where clocks are set. */
static void test_what_opens_is_what_clocks_show(void)
{
	g_autoptr(GArray) windows = windows_of("22:00-06:00 Mon-Thu;09:30-10:15 Sat");
	time_t begin;

	set_zone(BERLIN);
	begin = at("2026-01-01 00:00");
	for (time_t now = begin; now < begin + 366 * 86400; now += 15 * 60) {
		struct tm local;
		int minute, day;
		bool wanted;

		localtime_r(&now, &local);
		minute = local.tm_hour * 60 + local.tm_min;
		day = local.tm_wday;
		wanted = (minute >= 22 * 60 && day >= 1 && day <= 4) ||
			 (minute < 6 * 60 && day >= 2 && day <= 5) ||
			 (day == 6 && minute >= 570 && minute < 615);
		g_assert_cmpint(time_windows_are_open(windows, now), ==, wanted);
	}
}

static void test_without_windows_it_is_always_open(void)
{
	g_autoptr(GArray) none = g_array_new(false, false, sizeof(TimeWindow));
	time_t change;

	g_assert_true(time_windows_are_open(NULL, 0));
	g_assert_true(time_windows_are_open(none, 0));
	g_assert_false(time_windows_next_change(NULL, 0, &change));
	g_assert_false(time_windows_next_change(none, 0, &change));
}

static void test_days_before_times_are_refused_with_what_would_be_right(void)
{
	static const struct {
		const char *text;
		const char *said;
	} cases[] = {
		{ "Sat 22:00-06:00", "put days after the times: 22:00-06:00 Sat (" },
		{ "Mon-Fri,Sun   9:00-17:30",
		  "put days after the times: 9:00-17:30 Mon-Fri,Sun (" },
		{ "Sat 22:00", "its days are none of" },
		{ "Saturday 22:00-06:00", "its days are none of" },
		{ "Sat Sun", "its days are none of" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		TimeWindow window;

		g_assert_false(time_window_parse(cases[i].text, &window, &error));
		if (!strstr(error->message, cases[i].said))
			g_error("%s lacks %s", error->message, cases[i].said);
	}
}

static void test_what_is_no_window_is_refused(void)
{
	static const char *const texts[] = {
		"",
		"22:00",
		"22-06",
		"22:00-",
		"22:60-23:00",
		"24:01-01:00",
		"24:00-01:00",
		"25:00-26:00",
		"10:00-10:00",
		"10:00-11:0",
		"10:00-11:00Mon",
		"10:00-11:00 Mo",
		"10:00-11:00 Monday",
		"10:00-11:00 Mon,",
		"Mon-",
		"-10:00",
		"10:00-11:00 Mon Tue",
		"100:00-1:00",
		"10:000-11:00",
		"10:00 - 11:00",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;
		TimeWindow window;

		if (time_window_parse(texts[i], &window, &error))
			g_error("\"%s\" was taken", texts[i]);
		g_assert_nonnull(strstr(error->message, "22:00-06:00"));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/time-window/windows-open-and-close", test_windows_open_and_close);
	g_test_add_func("/time-window/what-opens-is-what-clocks-show",
			test_what_opens_is_what_clocks_show);
	g_test_add_func("/time-window/without-windows-it-is-always-open",
			test_without_windows_it_is_always_open);
	g_test_add_func("/time-window/days-before-times",
			test_days_before_times_are_refused_with_what_would_be_right);
	g_test_add_func("/time-window/what-is-no-window-is-refused",
			test_what_is_no_window_is_refused);

	return g_test_run();
}
