/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/snapshot-query.h"

SnapshotQuery *snapshot_query_open(HashStore *store, const char *sql, GError **error)
{
	g_autoptr(SnapshotQuery) query = g_new0(SnapshotQuery, 1);

	query->store = store;
	query->database = hash_store_snapshot(store, error);
	if (!query->database)
		return NULL;
	query->rows = database_prepare(query->database, sql, error);
	if (!query->rows)
		return NULL;

	return g_steal_pointer(&query);
}

static void end(SnapshotQuery *query)
{
	g_clear_pointer(&query->rows, sqlite3_finalize);
	hash_store_end_snapshot(query->store, g_steal_pointer(&query->database));
}

bool snapshot_query_next(SnapshotQuery *query, sqlite3_stmt **ret_row, GError **error)
{
	bool row;

	*ret_row = NULL;
	if (!query->rows)
		return true;
	if (!database_step(query->database, query->rows, &row, error))
		return false;

	if (row)
		*ret_row = query->rows;
	else
		/* A snapshot keeps the WAL from being used anew: not longer than it is needed. */
		end(query);

	return true;
}

void snapshot_query_close(SnapshotQuery *query)
{
	if (!query)
		return;

	end(query);
	g_free(query);
}
