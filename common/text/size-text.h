/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * SizeText - formats and parses sizes in powers of 1024.
 *
 * Thread: any.
 */

/* Three significant digits: "0 B", "640 B", "1.5 GiB", "33.3 MiB", "1020 KiB". */
char *size_text(uint64_t bytes);

/*
 * Parse "4096", "64K", "64KiB", "1.5G" or "1.5 GiB", in any case, with units up to E.  "64KB" is an error,
 * because many people read it as 64000.  Errors are of G_OPTION_ERROR.
 */
bool size_parse(const char *text, uint64_t *ret_bytes, GError **error) G_GNUC_WARN_UNUSED_RESULT;
