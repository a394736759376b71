/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * TimeWindow - a part of the day, in local time, on some weekdays, in which passes may run.
 *
 * A window whose end is not after its begin ends on the next day, and belongs to the weekday of its begin:
 * "22:00-06:00 Fri" closes on Saturday morning.  If clocks are set forward over its begin or end, it is at
 * that moment.  If they are set back, the first of the two hours counts.
 *
 * Pure, except for the local time zone.  Thread: any.
 */
typedef struct {
	uint16_t begin_minute; /* of the day */
	uint16_t end_minute;   /* of the day, or, when it is not larger, of the next one */
	uint8_t weekdays;      /* bit 0: Monday */
} TimeWindow;

/*
 * Parse "22:00-06:00", "9:00-17:30 Mon-Fri", "00:00-24:00 Sat,Sun", or "Sat,Sun" for whole days.  Ranges of
 * weekdays may cross the end of the week.  Errors are of G_OPTION_ERROR.
 */
bool time_window_parse(const char *text, TimeWindow *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* True if one of @windows (an array of TimeWindow) is open at @now, or there are no windows. */
bool time_windows_are_open(const GArray *windows, time_t now);

/* *ret is when all close, if one is open at @now, else when one opens.  False: never. */
bool time_windows_next_change(const GArray *windows, time_t now, time_t *ret);
