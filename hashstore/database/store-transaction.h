/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/database.h"
#include "hashstore/database/statements.h"
#include "hashstore/database/store.h"

/*
 * StoreTransaction - the transactions and statements of a HashStore, for hashstore alone.
 *
 * Thread: as HashStore.
 */

/*
 * Begin the write transaction now, which the first change would begin.  Many look-ups take half the time in
 * one transaction: each alone locks and unlocks the store.  For a pass that changes the store in any case.
 */
bool hash_store_begin(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Let the following look-ups read in one transaction, for a store opened to read: each alone locks and
 * unlocks the store.  Call it before each of many look-ups: it renews the transaction ten times a second, so
 * that the WAL can be checkpointed.  hash_store_end_reads() ends it.
 */
bool hash_store_read_on(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void hash_store_end_reads(HashStore *store);

/*
 * Assign an id to an object that will be fingerprinted.  It is larger than all earlier ids, including those of
 * interrupted passes.
 */
bool hash_store_new_object(HashStore *store, uint32_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The statement, prepared and without values, for reading. */
sqlite3_stmt *hash_store_query(HashStore *store, Statement statement, GError **error);

/*
 * Take the first row of @statement, for reading.  All its parameters are numbers, which are @numbers in order
 * (NULL: none).  *ret_row is NULL if there is no row; else the caller reads it and calls sqlite3_reset().
 */
bool hash_store_query_row(HashStore *store, Statement statement, const uint64_t *numbers,
			  sqlite3_stmt **ret_row, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Take the first column of that row; *ret stays as it is if there is none. */
bool hash_store_query_number(HashStore *store, Statement statement, const uint64_t *numbers,
			     uint64_t *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The number that @statement finds at or after @from; UINT64_MAX: none. */
bool hash_store_next_address(HashStore *store, Statement statement, uint64_t from, uint64_t *ret,
			     GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Let the rows of all tables be counted again. */
void hash_store_forget_row_counts(HashStore *store);

/*
 * Like hash_store_query(), for changes: begins the transaction if there is none.  The first change of a store
 * ends earlier queries.
 */
sqlite3_stmt *hash_store_change(HashStore *store, Statement statement, GError **error);

/* Run a statement of hash_store_change() to its end. */
bool hash_store_apply(HashStore *store, sqlite3_stmt *statement, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Run a statement for changing, all of whose parameters are numbers: @numbers (NULL: none). */
bool hash_store_change_rows(HashStore *store, Statement statement, const uint64_t *numbers,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Fail for a key that is too large: tables are ordered by signed numbers, but cursors promise unsigned order.
 */
bool hash_store_check_key(const HashStore *store, uint64_t subvolume, uint64_t inode,
			  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Commit the transaction; anchors in memory stay there. */
bool hash_store_keep(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Roll back a transaction that changed nothing but segments. */
bool hash_store_undo(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Roll back all uncommitted changes, including anchors in memory. */
bool hash_store_undo_all(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
