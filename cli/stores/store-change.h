/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/store-list.h"

/*
 * Changing a store between passes.
 *
 * Thread: main.
 */

/*
 * Open the store of @entry for writing as well.  A pass that runs is not in the way, nor is it
 * disturbed: HASH_STORE_ERROR_IN_USE.  One that begins meanwhile is refused the same way.
 */
HashStore *store_change_open(const StoreEntry *entry, const char *directory, GError **error);
