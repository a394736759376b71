/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * Refuse what a user typed: set a G_OPTION_ERROR_BAD_VALUE.  Returns false, for the caller to return.
 *
 * Thread: any.
 */
bool usage_error_set(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
