/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-snapshot.h"
#include "hashstore/database/store-state.h"

struct StoreSnapshot {
	HashStore *store; /* not owned */
	Database *database;
};

/*
 * SnapshotQuery - the rows of one SELECT on a snapshot of the store.  The store may change meanwhile, and is
 * closed later.
 *
 * Thread: the owner's of the store.
 */
typedef struct {
	StoreSnapshot *own;      /* NULL after the end, and if the caller owns the snapshot */
	StoreSnapshot *snapshot; /* the one that is read */
	sqlite3_stmt *rows;      /* NULL after the end */
	bool is_begun;           /* a row was checked: last_key is its key */
	uint64_t last_key[2];
} SnapshotQuery;

/* Take a snapshot now, which the query owns. */
SnapshotQuery *snapshot_query_open(HashStore *store, const char *sql, GError **error);

/* Query @snapshot, which stays the caller's. */
SnapshotQuery *snapshot_query_open_in(StoreSnapshot *snapshot, const char *sql, GError **error);

/* The next row, valid until the next call; NULL at the end, which ends the query's own snapshot. */
bool snapshot_query_next(SnapshotQuery *query, sqlite3_stmt **ret_row, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Check that the row with this key follows the last one checked: a damaged table may return rows in
 * any order, and repeat them.  The error is HASH_STORE_ERROR_CORRUPT, because @problem.
 */
bool snapshot_query_check_order(SnapshotQuery *query, uint64_t subvolume, uint64_t inode,
				const char *problem, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Accepts NULL. */
void snapshot_query_close(SnapshotQuery *query);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SnapshotQuery, snapshot_query_close)
