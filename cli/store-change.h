/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/store-list.h"
#include "daemon/exit-status.h"

/*
 * Changing stores between passes, one after another.
 *
 * Thread: main.
 */

/*
 * Open the store of @entry for writing as well.  A pass that runs is not in the way, nor is it
 * disturbed: HASH_STORE_ERROR_IN_USE.  One that begins meanwhile is refused the same way.
 */
HashStore *store_change_open(const StoreEntry *entry, const char *directory, GError **error);

/*
 * Have @change work on each store of @directory that @names name, or on all of them; it adds to what
 * it was given by @data.  Says what went wrong, and returns what to exit with.
 */
ExitStatus store_change_each(const char *directory, char *const *names,
			     bool (*change)(const StoreEntry *entry, void *data, GError **error),
			     void *data);
