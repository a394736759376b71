/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * StoreVacuum - writes a store anew, without what is free in it, so that its file is as small as it
 * can be.  The next passes make room in it again.
 *
 * Readers are not in the way; until the last of them has ended the file may stay as large as it was.
 *
 * Thread: the owner's of the store.
 */

/*
 * What that needs beside the file: a copy, and another in the WAL.  SQLite puts the first of them where
 * $SQLITE_TMPDIR says.
 */
bool hash_store_vacuum_needs(HashStore *store, uint64_t *ret_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* @store is open for writing, and nothing that reads it is. */
bool hash_store_vacuum(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
