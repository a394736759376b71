/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/database.h"

#include "hashstore/database/store-io.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

G_DEFINE_QUARK(dedupd_hash_store_error, hash_store_error)

/* A recovery or checkpoint locks the -shm file for a moment. */
#define BUSY_TIMEOUT_MSEC 5000

/* The size of the -wal file, 0 if it is empty; -1 if there is none. */
static int64_t wal_bytes(const char *path)
{
	g_autofree char *wal = g_strconcat(path, "-wal", NULL);
	struct stat st;

	return stat(wal, &st) == 0 ? (int64_t)st.st_size : -1;
}

static HashStoreError classify(int code, int cause)
{
	switch (code & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return HASH_STORE_ERROR_CORRUPT;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return HASH_STORE_ERROR_IN_USE;
	case SQLITE_FULL:
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return HASH_STORE_ERROR_FULL;
	case SQLITE_CANTOPEN:
		return cause == ENOENT ? HASH_STORE_ERROR_ABSENT : HASH_STORE_ERROR_FULL;
	default:
		break;
	}

	switch (cause) {
	case ENOSPC:
	case EDQUOT:
	case EROFS:
	case EACCES:
	case EPERM:
		return HASH_STORE_ERROR_FULL;
	default:
		return HASH_STORE_ERROR_FAILED;
	}
}

/* SQLite's text for its last failure, made valid: it quotes the file, which may hold any bytes. */
static char *reason_of(const Database *database)
{
	return g_utf8_make_valid(sqlite3_errmsg(database->handle), -1);
}

void database_set_error(Database *database, int code, GError **error)
{
	int extended = sqlite3_extended_errcode(database->handle);
	int cause = 0;
	g_autofree char *reason = NULL;
	HashStoreError kind;

	/* The errno of the last failed system call, which caused this failure only for these codes. */
	if ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN)
		cause = sqlite3_system_errno(database->handle);
	kind = classify(code, cause);
	reason = cause ? g_strdup(g_strerror(cause)) : reason_of(database);

	switch (kind) {
	case HASH_STORE_ERROR_CORRUPT:
		database_set_corrupt(database, reason, error);
		break;
	case HASH_STORE_ERROR_IN_USE:
		g_set_error(error, HASH_STORE_ERROR, kind,
			    "the store %s is locked by another process", database->path);
		break;
	case HASH_STORE_ERROR_FULL:
		g_set_error(error, HASH_STORE_ERROR, kind, "cannot %s the store %s: %s",
			    (code & 0xff) == SQLITE_CANTOPEN ? "open" : "write", database->path,
			    reason);
		break;
	default:
		g_set_error(error, HASH_STORE_ERROR, kind, "cannot use the store %s: %s (%d)",
			    database->path, reason, extended);
		break;
	}
}

void database_set_corrupt(const Database *database, const char *what, GError **error)
{
	g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_CORRUPT,
		    "the store %s is damaged: %s (--rebuild moves it aside and begins anew)",
		    database->path, what);
}

void database_wait_for_others(Database *database, bool wait)
{
	sqlite3_busy_timeout(database->handle, wait ? BUSY_TIMEOUT_MSEC : 0);
}

static bool database_connect(Database *database, const char *name, int flags, GError **error)
{
	int code;

	code = sqlite3_open_v2(name, &database->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (!database->handle) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED,
			    "cannot open the store %s: out of memory", database->path);
		return false;
	}
	if (code != SQLITE_OK) {
		database_set_error(database, code, error);
		return false;
	}

	sqlite3_extended_result_codes(database->handle, 1);
	database_wait_for_others(database, true);

	return true;
}

/* Read the one file only, and ignore a WAL beside it. */
static bool database_connect_at_rest(Database *database, GError **error)
{
	g_autofree char *escaped = g_uri_escape_string(database->path, "/", false);
	g_autofree char *uri = g_strconcat("file:", escaped, "?immutable=1", NULL);

	return database_connect(database, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, error);
}

static bool database_connect_to_read(Database *database, GError **error)
{
	if (wal_bytes(database->path) >= 0) {
		g_autofree char *shm = g_strconcat(database->path, "-shm", NULL);
		struct stat st;

		if (wal_bytes(database->path) > 0 || stat(shm, &st) == 0) {
			if (!database_connect(database, database->path, SQLITE_OPEN_READONLY,
					      error))
				return false;

			/* Only the writer decides when the WAL is copied into the database. */
			database_keep_wal(database);
			return true;
		}
	}

	/* Reading at rest makes no file. */
	return database_connect_at_rest(database, error);
}

static void set_up_sqlite(void)
{
	/* Nobody reads SQLite's memory statistics, which take a lock each time. */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	store_io_watch_sqlite();
}

Database *database_open(const char *path, DatabaseMode mode, GError **error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	g_autoptr(Database) database = g_new0(Database, 1);
	bool connected = false;

	pthread_once(&once, set_up_sqlite);
	database->path = g_strdup(path);
	database->mode = mode;
	switch (mode) {
	case DATABASE_WRITE:
		connected = database_connect(database, path, SQLITE_OPEN_READWRITE, error);
		break;
	case DATABASE_READ:
		connected = database_connect_to_read(database, error);
		break;
	case DATABASE_READ_AT_REST:
		connected = database_connect_at_rest(database, error);
		break;
	}

	return connected ? g_steal_pointer(&database) : NULL;
}

void database_close(Database *database)
{
	if (!database)
		return;

	if (sqlite3_close(database->handle) != SQLITE_OK)
		g_error("statements of %s are still in use", database->path);
	g_free(database->path);
	g_free(database);
}

bool database_exec(Database *database, const char *sql, GError **error)
{
	int code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);

	if (code != SQLITE_OK) {
		database_set_error(database, code, error);
		return false;
	}

	return true;
}

void database_keep_wal(Database *database)
{
	sqlite3_db_config(database->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

bool database_get_int(Database *database, const char *sql, int64_t *ret, GError **error)
{
	g_autoptr(sqlite3_stmt) statement = database_prepare(database, sql, error);
	bool row = false;

	if (!statement || !database_step(database, statement, &row, error))
		return false;
	*ret = row ? sqlite3_column_int64(statement, 0) : 0;

	return true;
}

bool database_count_rows(Database *database, const char *table, RowCount *rows, GError **error)
{
	g_autofree char *sql = NULL;
	int64_t n;

	if (rows->is_known)
		return true;

	sql = g_strconcat("SELECT count(*) FROM ", table, NULL);
	if (!database_get_int(database, sql, &n, error))
		return false;
	*rows = (RowCount){ (uint64_t)n, true };

	return true;
}

sqlite3_stmt *database_prepare(Database *database, const char *sql, GError **error)
{
	g_autofree char *reason = NULL;
	sqlite3_stmt *statement = NULL;
	int code;

	code = sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement,
				  NULL);
	if (code == SQLITE_OK)
		return statement;

	/* Our SQL is valid, so the tables must be wrong. */
	if (code == SQLITE_ERROR) {
		reason = reason_of(database);
		database_set_corrupt(database, reason, error);
	} else {
		database_set_error(database, code, error);
	}

	return NULL;
}

bool database_step(Database *database, sqlite3_stmt *statement, bool *ret_row, GError **error)
{
	int code = sqlite3_step(statement);

	*ret_row = code == SQLITE_ROW;
	if (code == SQLITE_ROW)
		return true;

	if (code != SQLITE_DONE)
		database_set_error(database, code, error);
	sqlite3_reset(statement);

	return code == SQLITE_DONE;
}

bool database_run(Database *database, sqlite3_stmt *statement, GError **error)
{
	bool row = true;

	while (row) {
		if (!database_step(database, statement, &row, error))
			return false;
	}

	return true;
}
