/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-error.h"

#include <glib.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Database - one SQLite connection that reports failures as HASH_STORE_ERROR.
 *
 * Thread: one at a time.
 */
typedef enum {
	DATABASE_WRITE, /* an existing file, which may be empty */
	DATABASE_READ,  /* makes no file */
	DATABASE_READ_AT_REST, /* makes and changes no file; nobody may write to the file itself meanwhile */
} DatabaseMode;

typedef struct {
	sqlite3 *handle;
	char *path;
	DatabaseMode mode;
} Database;

/* A file that is no SQLite database fails at the first statement, not here. */
Database *database_open(const char *path, DatabaseMode mode, GError **error);

/* All statements must be finalized.  Accepts NULL. */
void database_close(Database *database);

/* Run all statements of @sql; their rows are ignored. */
bool database_exec(Database *database, const char *sql, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Wait some seconds for a lock of another connection, or not.  The default is to wait. */
void database_wait_for_others(Database *database, bool wait);

/* Do not checkpoint when closing. */
void database_keep_wal(Database *database);

/*
 * SQL for the sum of a column of non-negative integers.  sum() fails on overflow, and its query with it.  This
 * sum is 0 to INT64_MAX for any contents of a damaged store, and exact below 2^53.
 */
#define DATABASE_SUM(column) "max(0, CAST(total(" column ") AS INTEGER))"

/* Read the first column of the only row of @sql. */
bool database_get_int(Database *database, const char *sql, int64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The number of rows of a table, committed or not. */
typedef struct {
	uint64_t n;
	bool is_known;
} RowCount;

/* Count the rows of @table unless they are known: most passes never need the number. */
bool database_count_rows(Database *database, const char *table, RowCount *rows, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

sqlite3_stmt *database_prepare(Database *database, const char *sql, GError **error);

/* Make one step; resets @statement at its end and on failure. */
bool database_step(Database *database, sqlite3_stmt *statement, bool *ret_row, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Make all steps and ignore rows; resets @statement. */
bool database_run(Database *database, sqlite3_stmt *statement, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Set @error from @code, the result of the last call on the connection. */
void database_set_error(Database *database, int code, GError **error);

/* Set HASH_STORE_ERROR_CORRUPT for the contents read; @what is a clause. */
void database_set_corrupt(const Database *database, const char *what, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Database, database_close)

/* Finalize a statement; accepts NULL. */
static inline void database_finalize(sqlite3_stmt *statement)
{
	sqlite3_finalize(statement);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sqlite3_stmt, database_finalize)
