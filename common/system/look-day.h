/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * LookDay - the day, counted from 1970, on which work that repeats was last done.
 *
 * The clock may have been wrong on that day.  A day in the future says nothing about when the work was done, so the
 * work is due: otherwise it would not be done before that day comes.
 *
 * Pure.  Thread: any.
 */

/* Whether the work is due @today if it is to be done every @interval days. */
bool look_day_is_due(uint64_t last_day, uint64_t today, uint64_t interval);
