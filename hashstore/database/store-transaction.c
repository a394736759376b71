/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/store-transaction.h"

#include "hashstore/database/store-connection.h"
#include "hashstore/database/store-meta.h"
#include "hashstore/database/store-state.h"

/* The duration of one transaction of reads. */
#define READS_USEC (G_USEC_PER_SEC / 10)

sqlite3_stmt *hash_store_query(HashStore *store, Statement statement, GError **error)
{
	sqlite3_stmt **prepared = &store->statements[statement];

	if (!*prepared)
		*prepared = database_prepare(store->database, statement_sql(statement), error);
	else
		sqlite3_reset(*prepared);

	return *prepared;
}

static void bind_numbers(sqlite3_stmt *statement, const uint64_t *numbers)
{
	int n = sqlite3_bind_parameter_count(statement);

	for (int i = 0; i < n; i++)
		sqlite3_bind_int64(statement, i + 1, (int64_t)numbers[i]);
}

bool hash_store_query_row(HashStore *store, Statement statement, const uint64_t *numbers,
			  sqlite3_stmt **ret_row, GError **error)
{
	sqlite3_stmt *query = hash_store_query(store, statement, error);
	bool row;

	*ret_row = NULL;
	if (!query)
		return false;
	bind_numbers(query, numbers);
	if (!database_step(store->database, query, &row, error))
		return false;
	if (row)
		*ret_row = query;

	return true;
}

bool hash_store_query_number(HashStore *store, Statement statement, const uint64_t *numbers,
			     uint64_t *ret, GError **error)
{
	sqlite3_stmt *row;

	if (!hash_store_query_row(store, statement, numbers, &row, error))
		return false;
	if (row) {
		*ret = (uint64_t)sqlite3_column_int64(row, 0);
		sqlite3_reset(row);
	}

	return true;
}

bool hash_store_next_address(HashStore *store, Statement statement, uint64_t from, uint64_t *ret,
			     GError **error)
{
	*ret = UINT64_MAX;

	return from > INT64_MAX || hash_store_query_number(store, statement, &from, ret, error);
}

void hash_store_forget_row_counts(HashStore *store)
{
	store->differed.is_known = false;
	store->pinned.is_known = false;
	store->read_sums.is_known = false;
}

bool hash_store_begin(HashStore *store, GError **error)
{
	sqlite3_stmt *begin;

	if (store->failed) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED,
			    "the store %s is not written any more after an earlier failure",
			    store->path);
		return false;
	}
	if (store->in_transaction)
		return true;
	if (store->at_rest && !store_connection_write(store, false, error))
		return false;

	begin = hash_store_query(store, STATEMENT_BEGIN, error);
	if (!begin || !database_run(store->database, begin, error))
		return false;
	store->in_transaction = true;

	return true;
}

bool hash_store_read_on(HashStore *store, GError **error)
{
	int64_t now_usec = g_get_monotonic_time();

	if (store->reads_since_usec > 0 && now_usec - store->reads_since_usec < READS_USEC)
		return true;

	hash_store_end_reads(store);
	if (!database_exec(store->database, "BEGIN", error))
		return false;
	store->reads_since_usec = now_usec;
	return true;
}

void hash_store_end_reads(HashStore *store)
{
	/* The transaction wrote nothing, so a failure loses nothing. */
	if (store->reads_since_usec > 0)
		sqlite3_exec(store->database->handle, "COMMIT", NULL, NULL, NULL);
	store->reads_since_usec = 0;
}

sqlite3_stmt *hash_store_change(HashStore *store, Statement statement, GError **error)
{
	if (!hash_store_begin(store, error))
		return NULL;

	return hash_store_query(store, statement, error);
}

bool hash_store_apply(HashStore *store, sqlite3_stmt *statement, GError **error)
{
	if (database_run(store->database, statement, error))
		return true;

	store->failed = true;

	return false;
}

bool hash_store_change_rows(HashStore *store, Statement statement, const uint64_t *numbers,
			    GError **error)
{
	sqlite3_stmt *change = hash_store_change(store, statement, error);

	if (!change)
		return false;
	bind_numbers(change, numbers);

	return hash_store_apply(store, change, error);
}

bool hash_store_check_key(const HashStore *store, uint64_t subvolume, uint64_t inode,
			  GError **error)
{
	if (subvolume <= INT64_MAX && inode <= INT64_MAX)
		return true;

	g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED,
		    "cannot keep inode %" G_GUINT64_FORMAT " of subvolume %" G_GUINT64_FORMAT
		    " in the store %s: number too large",
		    inode, subvolume, store->path);
	return false;
}

static bool end_transaction(HashStore *store, Statement how, GError **error)
{
	sqlite3_stmt *end = hash_store_query(store, how, error);

	if (!end || !hash_store_apply(store, end, error))
		return false;
	store->in_transaction = false;

	return true;
}

bool hash_store_keep(HashStore *store, GError **error)
{
	if (!store_meta_save_counts(store, error) ||
	    !end_transaction(store, STATEMENT_COMMIT, error))
		return false;
	store->saved_counts = store->counts;

	return true;
}

bool hash_store_undo(HashStore *store, GError **error)
{
	return end_transaction(store, STATEMENT_ROLLBACK, error);
}

bool hash_store_undo_all(HashStore *store, GError **error)
{
	store->n_anchors = 0;
	store->n_renewed = 0;
	hash_store_forget_row_counts(store);
	/* After some errors, such as one of a read, SQLite has rolled back by itself. */
	if (sqlite3_get_autocommit(store->database->handle))
		store->in_transaction = false;
	else if (!hash_store_undo(store, error))
		return false;
	return store_meta_load(store, error);
}

bool hash_store_new_object(HashStore *store, uint32_t *ret, GError **error)
{
	if (!hash_store_begin(store, error))
		return false;
	if (store->counts.next_object == UINT32_MAX) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED,
			    "the store %s has no more numbers for objects: use --rebuild",
			    store->path);
		return false;
	}
	*ret = store->counts.next_object++;

	return true;
}
