/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store-internal.h"

/*
 * SnapshotQuery - the rows of one SELECT as the store stood when it was opened, read through a
 * connection of its own: the store may be changed meanwhile, and is closed later.
 *
 * Thread: the owner's of the store.
 */
typedef struct {
	HashStore *store;   /* not owned */
	Database *database; /* NULL after the end */
	sqlite3_stmt *rows;
} SnapshotQuery;

SnapshotQuery *snapshot_query_open(HashStore *store, const char *sql, GError **error);

/* The next row, valid until the next call; NULL at the end, where the connection is closed. */
bool snapshot_query_next(SnapshotQuery *query, sqlite3_stmt **ret_row, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Accepts NULL. */
void snapshot_query_close(SnapshotQuery *query);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SnapshotQuery, snapshot_query_close)
