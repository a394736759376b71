/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/store-list.h"

#include <stdbool.h>

/*
 * Plot what the passes over a filesystem freed and read, in order of time.  If there are more passes than
 * columns, the last ones are shown.
 *
 * Thread: main.
 */
bool history_plot_print(const StoreEntry *entry, bool in_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
