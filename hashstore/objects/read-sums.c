/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/read-sums.h"

#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"

static bool count_rows(HashStore *store, GError **error)
{
	return database_count_rows(store->database, "read_sums", &store->read_sums, error);
}

bool hash_store_has_read_sums(HashStore *store, bool *ret, GError **error)
{
	*ret = false;
	if (!count_rows(store, error))
		return false;
	*ret = store->read_sums.n > 0;

	return true;
}

/* Run @statement on the row at @address, if there are rows. */
static bool change(HashStore *store, Statement statement, uint64_t address, GError **error)
{
	if (!count_rows(store, error))
		return false;

	return store->read_sums.n == 0 || address > INT64_MAX ||
	       hash_store_change_rows(store, statement, &address, error);
}

bool hash_store_drop_read_sums(HashStore *store, uint64_t address, GError **error)
{
	if (!count_rows(store, error))
		return false;
	if (store->read_sums.n == 0)
		return true;
	if (!change(store, STATEMENT_DROP_READ_SUMS, address, error))
		return false;
	store->read_sums.n -= (uint64_t)sqlite3_changes(store->database->handle);

	return true;
}

bool hash_store_take_read_sums(HashStore *store, uint64_t address, GError **error)
{
	return change(store, STATEMENT_TAKE_READ_SUMS, address, error);
}

bool hash_store_put_read_sums(HashStore *store, uint64_t address, const uint64_t *sums,
			      size_t n_sums, GError **error)
{
	sqlite3_stmt *put;

	/* Delete first: the number of rows shows then that one was added. */
	if (!hash_store_drop_read_sums(store, address, error))
		return false;

	put = hash_store_change(store, STATEMENT_PUT_READ_SUMS, error);
	if (!put)
		return false;
	sqlite3_bind_int64(put, 1, (int64_t)address);
	sqlite3_bind_blob64(put, 2, n_sums > 0 ? (const void *)sums : "", n_sums * sizeof(*sums),
			    SQLITE_STATIC);
	if (!hash_store_apply(store, put, error))
		return false;
	store->read_sums.n++;

	return true;
}

bool hash_store_get_read_sums(HashStore *store, uint64_t address, uint64_t *ret_address,
			      GBytes **ret, GError **error)
{
	const uint64_t begin = MIN(address, INT64_MAX);
	sqlite3_stmt *row;

	*ret = NULL;
	*ret_address = 0;
	if (!count_rows(store, error))
		return false;
	if (store->read_sums.n == 0)
		return true;
	if (!hash_store_query_row(store, STATEMENT_GET_READ_SUMS, &begin, &row, error))
		return false;
	if (row) {
		const void *sums = sqlite3_column_blob(row, 1);

		*ret_address = (uint64_t)sqlite3_column_int64(row, 0);
		*ret = g_bytes_new(sums, (size_t)sqlite3_column_bytes(row, 1));
		sqlite3_reset(row);
	}

	return true;
}

bool hash_store_next_new_read_sums(HashStore *store, uint64_t from, uint64_t *ret, GError **error)
{
	*ret = UINT64_MAX;
	if (!count_rows(store, error))
		return false;
	return store->read_sums.n == 0 ||
	       hash_store_next_address(store, STATEMENT_NEXT_NEW_READ_SUMS, from, ret, error);
}
