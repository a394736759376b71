/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/differed.h"

#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"

/* A pair has two rows, one for each of its extents. */
#define ROWS_MAX (2 * DIFFERED_PAIRS_MAX)

/* Count the rows on first use: most passes never need the number. */
static bool count_rows(HashStore *store, GError **error)
{
	int64_t rows;

	if (store->differed_known)
		return true;
	if (!database_get_int(store->database, "SELECT count(*) FROM differed", &rows, error))
		return false;
	store->differed_rows = (uint64_t)rows;
	store->differed_known = true;

	return true;
}

static void bind_stamp(sqlite3_stmt *statement, int at, const ExtentStamp *stamp)
{
	sqlite3_bind_int64(statement, at, (int64_t)stamp->address);
	sqlite3_bind_int64(statement, at + 1, (int64_t)stamp->generation);
}

static bool put_row(HashStore *store, const ExtentStamp *one, const ExtentStamp *other,
		    GError **error)
{
	sqlite3_stmt *put = hash_store_change(store, STATEMENT_PUT_DIFFERED, error);

	if (!put)
		return false;
	bind_stamp(put, 1, one);
	bind_stamp(put, 3, other);

	return hash_store_apply(store, put, error);
}

bool hash_store_put_differed(HashStore *store, const ExtentStamp *one, const ExtentStamp *other,
			     bool *ret_kept, GError **error)
{
	bool known;

	*ret_kept = false;
	if (!hash_store_has_differed(store, one, other, &known, error))
		return false;
	if (known || store->differed_rows + 2 > ROWS_MAX)
		return true;
	if (!put_row(store, one, other, error) || !put_row(store, other, one, error))
		return false;
	store->differed_rows += 2;
	*ret_kept = true;

	return true;
}

bool hash_store_has_differed(HashStore *store, const ExtentStamp *one, const ExtentStamp *other,
			     bool *ret, GError **error)
{
	sqlite3_stmt *find;

	*ret = false;
	if (!count_rows(store, error))
		return false;
	if (store->differed_rows == 0)
		return true;

	find = hash_store_query(store, STATEMENT_FIND_DIFFERED, error);
	if (!find)
		return false;
	bind_stamp(find, 1, one);
	bind_stamp(find, 3, other);
	if (!database_step(store->database, find, ret, error))
		return false;
	sqlite3_reset(find);

	return true;
}

bool hash_store_count_differed(HashStore *store, const ExtentStamp *extent, uint64_t most,
			       uint64_t *ret, GError **error)
{
	sqlite3_stmt *count;
	bool row;

	*ret = 0;
	if (!count_rows(store, error))
		return false;
	if (store->differed_rows == 0)
		return true;

	count = hash_store_query(store, STATEMENT_COUNT_DIFFERED, error);
	if (!count)
		return false;
	bind_stamp(count, 1, extent);
	sqlite3_bind_int64(count, 3, (int64_t)most);
	if (!database_step(store->database, count, &row, error))
		return false;
	*ret = (uint64_t)sqlite3_column_int64(count, 0);
	sqlite3_reset(count);

	return true;
}

static bool drop_rows(HashStore *store, Statement statement, uint64_t address, GError **error)
{
	sqlite3_stmt *drop = hash_store_change(store, statement, error);

	if (!drop)
		return false;
	sqlite3_bind_int64(drop, 1, (int64_t)address);
	if (!hash_store_apply(store, drop, error))
		return false;
	store->differed_rows -= (uint64_t)sqlite3_changes(store->database->handle);

	return true;
}

bool hash_store_drop_differed(HashStore *store, uint64_t address, GError **error)
{
	if (!count_rows(store, error))
		return false;

	return store->differed_rows == 0 ||
	       (drop_rows(store, STATEMENT_DROP_DIFFERED_OTHERS, address, error) &&
		drop_rows(store, STATEMENT_DROP_DIFFERED, address, error));
}
