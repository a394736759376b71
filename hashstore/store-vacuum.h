/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * StoreVacuum - rewrites a store without free pages, so that its file is as small as possible.  The next passes
 * let it grow again.
 *
 * Readers do not block it, but the file may keep its size until the last of them has ended.
 *
 * Thread: the owner's of the store.
 */

/*
 * The additional space that this needs: a copy, and another in the WAL.  SQLite puts the first copy into
 * $SQLITE_TMPDIR.
 */
bool hash_store_vacuum_needs(HashStore *store, uint64_t *ret_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* @store is open for writing and has no open readers. */
bool hash_store_vacuum(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
