/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"

#include <glib.h>
#include <stdbool.h>

/*
 * The command line of dedupd.
 *
 * Thread: main.
 */

/*
 * Lay @arguments over @settings, which hold the defaults.  False: an error that names the option and what would be
 * right.  *ret_done: nothing is left to do, as --version was answered (--help ends the process).
 */
bool options_parse(char ***arguments, Settings *settings, bool *ret_done, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
