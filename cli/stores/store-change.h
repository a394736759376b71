/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/store-list.h"

/*
 * Changing a store between passes.
 *
 * Thread: main.
 */

/*
 * Open the store of @entry for reading and writing.  While a pass runs, it fails with HASH_STORE_ERROR_IN_USE,
 * and the pass is not disturbed.  A pass that begins while the store is open is refused the same way.
 */
HashStore *store_change_open(const StoreEntry *entry, const char *directory, GError **error);
