/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/database.h"
#include "hashstore/database/statements.h"
#include "hashstore/database/store.h"

/*
 * The transactions of a HashStore, and its statements, which hashstore alone uses.
 *
 * Thread: as HashStore.
 */

/*
 * Begin the write transaction now, as the first change would.  Many look-ups take half the time in one: each
 * alone locks the store, and unlocks it.  For a pass that has changed the store, or is going to.
 */
bool hash_store_begin(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Have the look-ups that follow read in one transaction: else each locks the store, and unlocks it.  To be called
 * before each of many, of a store that was opened to read: the transaction is renewed ten times a second, so that
 * the WAL can be put into the database.  hash_store_end_reads() ends it.
 */
bool hash_store_read_on(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void hash_store_end_reads(HashStore *store);

/*
 * An id for an object that is about to be fingerprinted: larger than every id given before, also by
 * passes that were cut short after they had committed something.
 */
bool hash_store_new_object(HashStore *store, uint32_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The statement, prepared and without values; for reading. */
sqlite3_stmt *hash_store_query(HashStore *store, Statement statement, GError **error);

/* The number that @statement finds at or after @from; UINT64_MAX: none. */
bool hash_store_next_address(HashStore *store, Statement statement, uint64_t from, uint64_t *ret,
			     GError **error);

/*
 * The same for changing: begins the transaction when there is none.  The first one of all ends what
 * was queried before.
 */
sqlite3_stmt *hash_store_change(HashStore *store, Statement statement, GError **error);

/* Run a statement of hash_store_change(), to its end. */
bool hash_store_apply(HashStore *store, sqlite3_stmt *statement, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Commit the transaction as it is; anchors in memory stay there. */
bool hash_store_keep(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Roll the transaction back, in which nothing was changed but segments. */
bool hash_store_undo(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Forget all that was not committed, anchors in memory included. */
bool hash_store_undo_all(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
