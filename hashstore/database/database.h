/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-error.h"

#include <glib.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Database - one SQLite connection, whose failures come as HASH_STORE_ERROR.
 *
 * Thread: one at a time.
 */
typedef enum {
	DATABASE_WRITE,        /* an existing file, which may be empty */
	DATABASE_READ,         /* makes no file */
	DATABASE_READ_AT_REST, /* nor changes one; nobody may write to the file itself meanwhile */
} DatabaseMode;

typedef struct {
	sqlite3 *handle;
	char *path;
	DatabaseMode mode;
} Database;

/* A file that is no SQLite database is told by the first statement, not here. */
Database *database_open(const char *path, DatabaseMode mode, GError **error);

/* All statements must be finalized.  Accepts NULL. */
void database_close(Database *database);

/* Runs all statements of @sql, which return no rows that matter. */
bool database_exec(Database *database, const char *sql, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether to wait some seconds for a lock that another connection holds; it does at first. */
void database_wait_for_others(Database *database, bool wait);

/* Closing shall leave the WAL as it is. */
void database_keep_wal(Database *database);

/*
 * SQL for the sum of a column of whole numbers that are not negative.  sum() fails where it overflows, and each query
 * with it.  This is at least 0 and at most INT64_MAX whatever a damaged store has, and exact below 2^53.
 */
#define DATABASE_SUM(column) "max(0, CAST(total(" column ") AS INTEGER))"

/* The first column of the only row of @sql. */
bool database_get_int(Database *database, const char *sql, int64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

sqlite3_stmt *database_prepare(Database *database, const char *sql, GError **error);

/* One step; resets @statement at its end and when it fails. */
bool database_step(Database *database, sqlite3_stmt *statement, bool *ret_row, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* All steps of a statement whose rows do not matter; resets it. */
bool database_run(Database *database, sqlite3_stmt *statement, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Set @error from what the last call on the connection returned. */
void database_set_error(Database *database, int code, GError **error);

/* Set HASH_STORE_ERROR_CORRUPT because of what was read: @what is a clause. */
void database_set_corrupt(const Database *database, const char *what, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Database, database_close)

/* Finalizes a statement; accepts NULL. */
static inline void database_finalize(sqlite3_stmt *statement)
{
	sqlite3_finalize(statement);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sqlite3_stmt, database_finalize)
