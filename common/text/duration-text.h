/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * DurationText - parses durations.
 *
 * Thread: any.
 */

/*
 * Parse "90s", "30min", "4h", "1d", "1w", or a sum such as "1h 30min"; each number has a unit.  Errors are of
 * G_OPTION_ERROR.
 */
bool duration_parse(const char *text, uint64_t *ret_usec, GError **error) G_GNUC_WARN_UNUSED_RESULT;
