/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/read-sums.h"

#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"

/* Count the rows on first use: most stores have none. */
static bool count_rows(HashStore *store, GError **error)
{
	int64_t rows;

	if (store->read_sums_known)
		return true;
	if (!database_get_int(store->database, "SELECT count(*) FROM read_sums", &rows, error))
		return false;
	store->read_sums_rows = (uint64_t)rows;
	store->read_sums_known = true;

	return true;
}

bool hash_store_has_read_sums(HashStore *store, bool *ret, GError **error)
{
	*ret = false;
	if (!count_rows(store, error))
		return false;
	*ret = store->read_sums_rows > 0;

	return true;
}

/* Run @statement on the row at @address; deleted rows are subtracted from their number. */
static bool change(HashStore *store, Statement statement, uint64_t address, GError **error)
{
	sqlite3_stmt *prepared;

	if (!count_rows(store, error))
		return false;
	if (store->read_sums_rows == 0 || address > INT64_MAX)
		return true;

	prepared = hash_store_change(store, statement, error);
	if (!prepared)
		return false;
	sqlite3_bind_int64(prepared, 1, (int64_t)address);
	return hash_store_apply(store, prepared, error);
}

bool hash_store_drop_read_sums(HashStore *store, uint64_t address, GError **error)
{
	if (!count_rows(store, error))
		return false;
	if (store->read_sums_rows == 0)
		return true;
	if (!change(store, STATEMENT_DROP_READ_SUMS, address, error))
		return false;
	store->read_sums_rows -= (uint64_t)sqlite3_changes(store->database->handle);

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
	store->read_sums_rows++;

	return true;
}

bool hash_store_get_read_sums(HashStore *store, uint64_t address, uint64_t *ret_address,
			      GBytes **ret, GError **error)
{
	sqlite3_stmt *get;
	bool row;

	*ret = NULL;
	*ret_address = 0;
	if (!count_rows(store, error))
		return false;
	if (store->read_sums_rows == 0)
		return true;

	get = hash_store_query(store, STATEMENT_GET_READ_SUMS, error);
	if (!get)
		return false;
	sqlite3_bind_int64(get, 1, (int64_t)MIN(address, INT64_MAX));
	if (!database_step(store->database, get, &row, error))
		return false;
	if (row) {
		const void *sums = sqlite3_column_blob(get, 1);

		*ret_address = (uint64_t)sqlite3_column_int64(get, 0);
		*ret = g_bytes_new(sums, (size_t)sqlite3_column_bytes(get, 1));
	}
	sqlite3_reset(get);

	return true;
}

bool hash_store_next_new_read_sums(HashStore *store, uint64_t from, uint64_t *ret, GError **error)
{
	*ret = UINT64_MAX;
	if (!count_rows(store, error))
		return false;
	return store->read_sums_rows == 0 ||
	       hash_store_next_address(store, STATEMENT_NEXT_NEW_READ_SUMS, from, ret, error);
}
