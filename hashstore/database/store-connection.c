/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/store-connection.h"

#include "hashstore/database/checkpoint.h"
#include "hashstore/database/store-files.h"

/* The size that a WAL may reach before it is copied into the database. */
#define WAL_BYTES_IN_PASS (UINT64_C(1) << 30)
#define WAL_BYTES_SETTLED (UINT64_C(16) << 20)

/* Settings of an empty file only: SQLite would write again if they were repeated. */
static const char prepare_to_make[] = "PRAGMA page_size = 4096;"
				      "PRAGMA auto_vacuum = INCREMENTAL;";

/*
 * Settings of a connection.  SQLite makes no checkpoint by itself: see store_connection_checkpoint().  Debian's
 * SQLite overwrites deleted data by default, which would double the writes of merges.
 */
static const char prepare_to_write[] = "PRAGMA journal_mode = WAL;"
				       "PRAGMA synchronous = NORMAL;"
				       "PRAGMA journal_size_limit = 16777216;"
				       "PRAGMA wal_autocheckpoint = 0;"
				       "PRAGMA secure_delete = OFF;"
				       "PRAGMA temp_store = MEMORY;"
				       "PRAGMA cache_size = -8192;";

bool store_connection_open(HashStore *store, GError **error)
{
	store->at_rest = store_files_at_rest(store->path);
	store->database = database_open(
		store->path, store->at_rest ? DATABASE_READ_AT_REST : DATABASE_WRITE, error);
	if (!store->database)
		return false;

	/* The file may turn out to be another program's. */
	database_keep_wal(store->database);

	return true;
}

static void finalize_statements(HashStore *store)
{
	for (size_t i = 0; i < G_N_ELEMENTS(store->statements); i++)
		g_clear_pointer(&store->statements[i], sqlite3_finalize);
}

bool store_connection_write(HashStore *store, bool is_empty, GError **error)
{
	g_autoptr(Database) writer = database_open(store->path, DATABASE_WRITE, error);
	int keep_wal = 1;

	if (!writer)
		return false;

	/* Keep an empty WAL at the end, so that neither passes nor readers make and delete it. */
	sqlite3_file_control(writer->handle, "main", SQLITE_FCNTL_PERSIST_WAL, &keep_wal);

	if ((is_empty && !database_exec(writer, prepare_to_make, error)) ||
	    !database_exec(writer, prepare_to_write, error))
		return false;

	finalize_statements(store);
	database_close(store->database);
	store->database = g_steal_pointer(&writer);
	store->at_rest = false;

	return true;
}

static bool is_settled(const HashStore *store)
{
	return store->counts.next_object - store->counts.settled_below <= store->n_renewed;
}

bool store_connection_limit_wal(HashStore *store, uint64_t limit_bytes, GError **error)
{
	if (store->snapshots_at_rest > 0 || !hash_store_may_continue(store) ||
	    store_files_wal_bytes(store->path) <= limit_bytes)
		return true;

	return checkpoint_run(store->database, store->stop, error);
}

bool store_connection_checkpoint(HashStore *store, GError **error)
{
	uint64_t limit_bytes = WAL_BYTES_SETTLED;

	if (!is_settled(store))
		limit_bytes = WAL_BYTES_IN_PASS + store_files_database_bytes(store->path);

	return store_connection_limit_wal(store, limit_bytes, error);
}

void store_connection_close(HashStore *store)
{
	if (!store->database)
		return;

	/* Closing makes a checkpoint, which would change the file under these snapshots. */
	g_assert(store->snapshots_at_rest == 0);

	finalize_statements(store);
	/* A pass that stops early does not wait for the disk. */
	if (!hash_store_may_continue(store) ||
	    (!is_settled(store) && store_files_wal_bytes(store->path) > WAL_BYTES_SETTLED))
		database_keep_wal(store->database);
	g_clear_pointer(&store->database, database_close);
}

Database *hash_store_snapshot(HashStore *store, GError **error)
{
	DatabaseMode mode = store->at_rest ? DATABASE_READ_AT_REST : DATABASE_READ;
	g_autoptr(Database) snapshot = database_open(store->path, mode, error);
	int64_t ignored;

	/* The first read takes the snapshot, not BEGIN. */
	if (!snapshot || !database_exec(snapshot, "PRAGMA cache_size = -1024; BEGIN", error) ||
	    !database_get_int(snapshot, "SELECT count(*) FROM segment", &ignored, error))
		return NULL;

	if (store->at_rest)
		store->snapshots_at_rest++;

	return g_steal_pointer(&snapshot);
}

void hash_store_end_snapshot(HashStore *store, Database *snapshot)
{
	if (!snapshot)
		return;

	if (snapshot->mode == DATABASE_READ_AT_REST)
		store->snapshots_at_rest--;
	database_close(snapshot);
}
