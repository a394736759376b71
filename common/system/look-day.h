/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * LookDay - the day, counted from 1970, of the last periodic work.
 *
 * The clock may have been wrong.  A day in the future does not tell when the work was done, so the work is
 * due; otherwise it would wait for that day.
 *
 * Pure.  Thread: any.
 */

/* True if work that repeats every @interval days is due @today. */
static inline bool look_day_is_due(uint64_t last_day, uint64_t today, uint64_t interval)
{
	return today < last_day || today - last_day >= interval;
}
