/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/snapshot-query.h"

SnapshotQuery *snapshot_query_open_in(StoreSnapshot *snapshot, const char *sql, GError **error)
{
	sqlite3_stmt *rows = database_prepare(snapshot->database, sql, error);
	SnapshotQuery *query;

	if (!rows)
		return NULL;

	query = g_new0(SnapshotQuery, 1);
	query->snapshot = snapshot;
	query->rows = rows;
	return query;
}

SnapshotQuery *snapshot_query_open(HashStore *store, const char *sql, GError **error)
{
	g_autoptr(StoreSnapshot) snapshot = store_snapshot_take(store, error);
	SnapshotQuery *query = snapshot ? snapshot_query_open_in(snapshot, sql, error) : NULL;

	if (query)
		query->own = g_steal_pointer(&snapshot);
	return query;
}

static void end(SnapshotQuery *query)
{
	g_clear_pointer(&query->rows, sqlite3_finalize);
	g_clear_pointer(&query->own, store_snapshot_free);
}

bool snapshot_query_next(SnapshotQuery *query, sqlite3_stmt **ret_row, GError **error)
{
	bool row;

	*ret_row = NULL;
	if (!query->rows)
		return true;
	if (!database_step(query->snapshot->database, query->rows, &row, error))
		return false;

	if (row)
		*ret_row = query->rows;
	else
		/* A snapshot prevents the WAL from being reused, so end it at once. */
		end(query);

	return true;
}

bool snapshot_query_check_order(SnapshotQuery *query, uint64_t subvolume, uint64_t inode,
				const char *problem, GError **error)
{
	const uint64_t *last = query->last_key;
	bool is_behind = subvolume != last[0] ? subvolume > last[0] : inode > last[1];

	if (subvolume > INT64_MAX || inode > INT64_MAX || (query->is_begun && !is_behind)) {
		database_set_corrupt(query->snapshot->database, problem, error);
		return false;
	}
	query->is_begun = true;
	query->last_key[0] = subvolume;
	query->last_key[1] = inode;

	return true;
}

void snapshot_query_close(SnapshotQuery *query)
{
	if (!query)
		return;

	end(query);
	g_free(query);
}
