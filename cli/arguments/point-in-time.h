/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Parse a point in time as users type it, in the local time zone: "2026-11-21", "2026-11-21 05:06"
 * or "2026-11-21 05:06:19".  It may also be "today", "yesterday", or how long ago it was, as
 * duration_parse() reads it: "90min".  Errors are of G_OPTION_ERROR.
 *
 * Thread: any.
 */
bool point_in_time_parse(const char *text, int64_t now_usec, int64_t *ret_usec, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
