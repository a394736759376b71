/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/store-list.h"

#include <stdbool.h>

/*
 * Print what the passes over a filesystem freed and read, as plots in order of time.  Of more passes
 * than the terminal has columns the last are shown.
 *
 * Thread: main.
 */
bool history_plot_print(const StoreEntry *entry, bool in_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
