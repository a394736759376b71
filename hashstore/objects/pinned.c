/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/pinned.h"

#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"

/* Count the rows on first use: most passes never need the number. */
static bool count_rows(HashStore *store, GError **error)
{
	int64_t rows;

	if (store->pinned_known)
		return true;
	if (!database_get_int(store->database, "SELECT count(*) FROM pinned", &rows, error))
		return false;
	store->pinned_rows = (uint64_t)rows;
	store->pinned_known = true;

	return true;
}

/* Bind the columns in the order of the table. */
static void bind_row(sqlite3_stmt *put, const PinnedExtent *pinned)
{
	const uint64_t values[] = {
		pinned->extent.address,  pinned->extent.generation,
		pinned->cause,           pinned->root,
		pinned->inode,           pinned->offset,
		pinned->position,        pinned->length,
		pinned->uncovered_bytes, pinned->places,
		pinned->holders,         pinned->bytes,
		pinned->is_source,
	};

	for (size_t i = 0; i < G_N_ELEMENTS(values); i++)
		sqlite3_bind_int64(put, (int)i + 1, (int64_t)values[i]);
}

static uint64_t column(sqlite3_stmt *row, int at)
{
	return (uint64_t)sqlite3_column_int64(row, at);
}

static void read_row(sqlite3_stmt *row, PinnedExtent *ret)
{
	*ret = (PinnedExtent){
		.extent = { column(row, 0), column(row, 1) },
		.cause = (uint32_t)column(row, 2),
		.root = column(row, 3),
		.inode = column(row, 4),
		.offset = column(row, 5),
		.position = column(row, 6),
		.length = column(row, 7),
		.uncovered_bytes = column(row, 8),
		.places = column(row, 9),
		.holders = column(row, 10),
		.bytes = column(row, 11),
		.is_source = column(row, 12) != 0,
	};
}

bool hash_store_put_pinned(HashStore *store, const PinnedExtent *pinned, bool *ret_kept,
			   GError **error)
{
	sqlite3_stmt *put;

	*ret_kept = false;
	if (!hash_store_drop_pinned(store, pinned->extent.address, error))
		return false;
	if (store->pinned_rows >= PINNED_MAX && pinned->bytes < PINNED_ANYWAY_BYTES &&
	    pinned->holders == 0)
		return true;

	put = hash_store_change(store, STATEMENT_PUT_PINNED, error);
	if (!put)
		return false;
	bind_row(put, pinned);
	if (!hash_store_apply(store, put, error))
		return false;
	store->pinned_rows++;
	*ret_kept = true;

	return true;
}

bool hash_store_drop_pinned(HashStore *store, uint64_t address, GError **error)
{
	sqlite3_stmt *drop;

	if (!count_rows(store, error))
		return false;
	if (store->pinned_rows == 0)
		return true;

	drop = hash_store_change(store, STATEMENT_DROP_PINNED, error);
	if (!drop)
		return false;
	sqlite3_bind_int64(drop, 1, (int64_t)address);
	if (!hash_store_apply(store, drop, error))
		return false;
	store->pinned_rows -= (uint64_t)sqlite3_changes(store->database->handle);

	return true;
}

bool hash_store_clear_pinned(HashStore *store, GError **error)
{
	sqlite3_stmt *clear;

	if (!count_rows(store, error))
		return false;
	if (store->pinned_rows == 0)
		return true;

	clear = hash_store_change(store, STATEMENT_CLEAR_PINNED, error);
	if (!clear || !hash_store_apply(store, clear, error))
		return false;
	store->pinned_rows -= (uint64_t)sqlite3_changes(store->database->handle);

	return true;
}

/* The first row of a query with the parameters @values. */
static bool query(HashStore *store, Statement statement, const uint64_t *values, size_t n_values,
		  sqlite3_stmt **ret_row, GError **error)
{
	sqlite3_stmt *next = hash_store_query(store, statement, error);
	bool row;

	*ret_row = NULL;
	if (!next)
		return false;
	for (size_t i = 0; i < n_values; i++)
		sqlite3_bind_int64(next, (int)i + 1, (int64_t)MIN(values[i], INT64_MAX));
	if (!database_step(store->database, next, &row, error))
		return false;
	if (row)
		*ret_row = next;
	else
		sqlite3_reset(next);

	return true;
}

static bool next_row(HashStore *store, Statement statement, const uint64_t *values, size_t n_values,
		     PinnedExtent *ret, bool *ret_found, GError **error)
{
	sqlite3_stmt *row;

	*ret_found = false;
	if (!query(store, statement, values, n_values, &row, error))
		return false;
	if (!row)
		return true;
	read_row(row, ret);
	sqlite3_reset(row);
	*ret_found = true;

	return true;
}

static bool next_number(HashStore *store, Statement statement, const uint64_t *values,
			size_t n_values, uint64_t *ret, GError **error)
{
	sqlite3_stmt *row;

	*ret = UINT64_MAX;
	if (!query(store, statement, values, n_values, &row, error))
		return false;
	if (!row)
		return true;
	*ret = column(row, 0);
	sqlite3_reset(row);

	return true;
}

bool hash_store_next_pinned(HashStore *store, uint64_t from, PinnedExtent *ret, bool *ret_found,
			    GError **error)
{
	const uint64_t values[] = { from };

	return next_row(store, STATEMENT_NEXT_PINNED, values, G_N_ELEMENTS(values), ret, ret_found,
			error);
}

bool hash_store_sum_pinned(HashStore *store, uint32_t cause, PinnedSum *ret, GError **error)
{
	bool is_any = cause == PINNED_ANY_CAUSE;
	const uint64_t values[] = { is_any ? 0 : cause, is_any ? UINT32_MAX : cause };
	sqlite3_stmt *row;

	*ret = (PinnedSum){ 0 };
	if (!query(store, STATEMENT_SUM_PINNED, values, G_N_ELEMENTS(values), &row, error))
		return false;
	if (!row)
		return true;
	*ret = (PinnedSum){ column(row, 0), column(row, 1), column(row, 2) };
	sqlite3_reset(row);

	return true;
}

bool hash_store_next_pinned_by(HashStore *store, uint64_t root, uint64_t inode, uint64_t from,
			       PinnedExtent *ret, bool *ret_found, GError **error)
{
	const uint64_t values[] = { root, inode, from };

	return next_row(store, STATEMENT_NEXT_PINNED_BY, values, G_N_ELEMENTS(values), ret,
			ret_found, error);
}

bool hash_store_next_pinning_root(HashStore *store, uint64_t from, uint64_t *ret, GError **error)
{
	const uint64_t values[] = { from };

	return next_number(store, STATEMENT_NEXT_PINNING_ROOT, values, G_N_ELEMENTS(values), ret,
			   error);
}

bool hash_store_next_pinning_root_for(HashStore *store, uint32_t cause, uint64_t from,
				      uint64_t *ret, GError **error)
{
	const uint64_t values[] = { cause, from };

	return next_number(store, STATEMENT_NEXT_PINNING_ROOT_FOR, values, G_N_ELEMENTS(values),
			   ret, error);
}

bool hash_store_next_pinning_inode(HashStore *store, uint64_t root, uint64_t from, uint64_t *ret,
				   GError **error)
{
	const uint64_t values[] = { root, from };

	return next_number(store, STATEMENT_NEXT_PINNING_INODE, values, G_N_ELEMENTS(values), ret,
			   error);
}
