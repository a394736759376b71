/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * Points in time, in microseconds since 1970, and durations in microseconds, as texts.
 *
 * Thread: any.
 */

/* "2026-11-21 05:06:19" in the local time zone. */
char *time_text_local(int64_t usec);

/* "2026-11-21T04:06:19Z" */
char *time_text_utc(int64_t usec);

/* "0.25 s", "12.5 s", "4 min 12 s", "3 h 05 min", "2 d 03 h"; a negative duration counts as 0. */
char *duration_text(int64_t usec);

/* "1.250", with a point in any locale. */
char *duration_seconds(int64_t usec);
