/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/store-snapshot.h"

#include "hashstore/database/snapshot-query.h"
#include "hashstore/database/store-connection.h"
#include "hashstore/database/store-state.h"

StoreSnapshot *store_snapshot_take(HashStore *store, GError **error)
{
	Database *database = hash_store_snapshot(store, error);
	StoreSnapshot *snapshot;

	if (!database)
		return NULL;

	snapshot = g_new0(StoreSnapshot, 1);
	snapshot->store = store;
	snapshot->database = database;
	return snapshot;
}

void store_snapshot_free(StoreSnapshot *snapshot)
{
	if (!snapshot)
		return;

	hash_store_end_snapshot(snapshot->store, snapshot->database);
	g_free(snapshot);
}
