/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-snapshot.h"
#include "hashstore/database/store-state.h"

struct StoreSnapshot {
	HashStore *store; /* not owned */
	Database *database;
};

/*
 * SnapshotQuery - the rows of one SELECT as the store stood when its snapshot was taken: the store may
 * be changed meanwhile, and is closed later.
 *
 * Thread: the owner's of the store.
 */
typedef struct {
	StoreSnapshot *own;      /* NULL after the end, and where the snapshot is another's */
	StoreSnapshot *snapshot; /* which is read */
	sqlite3_stmt *rows;      /* NULL after the end */
} SnapshotQuery;

/* With a snapshot of its own, taken now. */
SnapshotQuery *snapshot_query_open(HashStore *store, const char *sql, GError **error);

/* Of @snapshot, which stays the caller's. */
SnapshotQuery *snapshot_query_open_in(StoreSnapshot *snapshot, const char *sql, GError **error);

/* The next row, valid until the next call; NULL at the end, where its own snapshot is ended. */
bool snapshot_query_next(SnapshotQuery *query, sqlite3_stmt **ret_row, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Accepts NULL. */
void snapshot_query_close(SnapshotQuery *query);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SnapshotQuery, snapshot_query_close)
