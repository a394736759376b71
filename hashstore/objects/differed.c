/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/differed.h"

#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"

/* A pair has two rows, one for each of its extents; that of an extent with itself has one. */
#define ROWS_MAX (2 * DIFFERED_PAIRS_MAX)

static bool count_rows(HashStore *store, GError **error)
{
	return database_count_rows(store->database, "differed", &store->differed, error);
}

static bool put_row(HashStore *store, const ExtentStamp *one, const ExtentStamp *other,
		    GError **error)
{
	const uint64_t values[] = { one->address, one->generation, other->address,
				    other->generation };

	return hash_store_change_rows(store, STATEMENT_PUT_DIFFERED, values, error);
}

bool hash_store_put_differed(HashStore *store, const ExtentStamp *one, const ExtentStamp *other,
			     bool *ret_kept, GError **error)
{
	bool is_own = one->address == other->address && one->generation == other->generation;
	unsigned n_rows = is_own ? 1 : 2;
	bool known;

	*ret_kept = false;
	if (!hash_store_has_differed(store, one, other, &known, error))
		return false;
	if (known || store->differed.n + n_rows > ROWS_MAX)
		return true;
	if (!put_row(store, one, other, error) || (!is_own && !put_row(store, other, one, error)))
		return false;
	store->differed.n += n_rows;
	*ret_kept = true;

	return true;
}

bool hash_store_has_differed(HashStore *store, const ExtentStamp *one, const ExtentStamp *other,
			     bool *ret, GError **error)
{
	const uint64_t values[] = { one->address, one->generation, other->address,
				    other->generation };
	sqlite3_stmt *row;

	*ret = false;
	if (!count_rows(store, error))
		return false;
	if (store->differed.n == 0)
		return true;
	if (!hash_store_query_row(store, STATEMENT_FIND_DIFFERED, values, &row, error))
		return false;
	*ret = row;
	sqlite3_reset(row);

	return true;
}

bool hash_store_count_differed(HashStore *store, const ExtentStamp *extent, uint64_t most,
			       uint64_t *ret, GError **error)
{
	const uint64_t values[] = { extent->address, extent->generation, most };

	*ret = 0;
	if (!count_rows(store, error))
		return false;

	return store->differed.n == 0 ||
	       hash_store_query_number(store, STATEMENT_COUNT_DIFFERED, values, ret, error);
}

static bool drop_rows(HashStore *store, Statement statement, uint64_t address, GError **error)
{
	if (!hash_store_change_rows(store, statement, &address, error))
		return false;
	store->differed.n -= (uint64_t)sqlite3_changes(store->database->handle);

	return true;
}

bool hash_store_drop_differed(HashStore *store, uint64_t address, GError **error)
{
	if (!count_rows(store, error))
		return false;

	return store->differed.n == 0 ||
	       (drop_rows(store, STATEMENT_DROP_DIFFERED_OTHERS, address, error) &&
		drop_rows(store, STATEMENT_DROP_DIFFERED, address, error));
}
