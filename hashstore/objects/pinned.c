/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/pinned.h"

#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"

static bool count_rows(HashStore *store, GError **error)
{
	return database_count_rows(store->database, "pinned", &store->pinned, error);
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
	/* In the order of the columns. */
	const uint64_t values[] = {
		pinned->extent.address,  pinned->extent.generation,
		pinned->cause,           pinned->root,
		pinned->inode,           pinned->offset,
		pinned->position,        pinned->length,
		pinned->uncovered_bytes, pinned->places,
		pinned->holders,         pinned->bytes,
		pinned->is_source,
	};

	*ret_kept = false;
	if (!hash_store_drop_pinned(store, pinned->extent.address, error))
		return false;
	if (store->pinned.n >= PINNED_MAX && pinned->bytes < PINNED_ANYWAY_BYTES &&
	    pinned->holders == 0)
		return true;
	if (!hash_store_change_rows(store, STATEMENT_PUT_PINNED, values, error))
		return false;
	store->pinned.n++;
	*ret_kept = true;

	return true;
}

static bool drop_rows(HashStore *store, Statement statement, const uint64_t *values, GError **error)
{
	if (!count_rows(store, error))
		return false;
	if (store->pinned.n == 0)
		return true;
	if (!hash_store_change_rows(store, statement, values, error))
		return false;
	store->pinned.n -= (uint64_t)sqlite3_changes(store->database->handle);

	return true;
}

bool hash_store_drop_pinned(HashStore *store, uint64_t address, GError **error)
{
	return drop_rows(store, STATEMENT_DROP_PINNED, &address, error);
}

bool hash_store_clear_pinned(HashStore *store, GError **error)
{
	return drop_rows(store, STATEMENT_CLEAR_PINNED, NULL, error);
}

/* Addresses, inodes and ids are at most INT64_MAX: nothing lies behind it. */
static uint64_t clamp(uint64_t number)
{
	return MIN(number, INT64_MAX);
}

static bool next_row(HashStore *store, Statement statement, const uint64_t *values,
		     PinnedExtent *ret, bool *ret_found, GError **error)
{
	sqlite3_stmt *row;

	*ret_found = false;
	if (!hash_store_query_row(store, statement, values, &row, error))
		return false;
	if (!row)
		return true;
	read_row(row, ret);
	sqlite3_reset(row);
	*ret_found = true;

	return true;
}

static bool next_number(HashStore *store, Statement statement, const uint64_t *values,
			uint64_t *ret, GError **error)
{
	*ret = UINT64_MAX;

	return hash_store_query_number(store, statement, values, ret, error);
}

bool hash_store_next_pinned(HashStore *store, uint64_t from, PinnedExtent *ret, bool *ret_found,
			    GError **error)
{
	const uint64_t values[] = { clamp(from) };

	return next_row(store, STATEMENT_NEXT_PINNED, values, ret, ret_found, error);
}

bool hash_store_find_pinned(HashStore *store, uint64_t address, PinnedExtent *ret, bool *ret_found,
			    GError **error)
{
	if (!hash_store_next_pinned(store, address, ret, ret_found, error))
		return false;

	*ret_found = *ret_found && ret->extent.address == address;
	return true;
}

bool hash_store_sum_pinned(HashStore *store, uint32_t cause, PinnedSum *ret, GError **error)
{
	bool is_any = cause == PINNED_ANY_CAUSE;
	const uint64_t values[] = { is_any ? 0 : cause, is_any ? UINT32_MAX : cause };
	sqlite3_stmt *row;

	*ret = (PinnedSum){ 0 };
	if (!hash_store_query_row(store, STATEMENT_SUM_PINNED, values, &row, error))
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
	const uint64_t values[] = { clamp(root), clamp(inode), clamp(from) };

	return next_row(store, STATEMENT_NEXT_PINNED_BY, values, ret, ret_found, error);
}

bool hash_store_next_pinning_root(HashStore *store, uint64_t from, uint64_t *ret, GError **error)
{
	const uint64_t values[] = { clamp(from) };

	return next_number(store, STATEMENT_NEXT_PINNING_ROOT, values, ret, error);
}

bool hash_store_next_pinning_root_for(HashStore *store, uint32_t cause, uint64_t from,
				      uint64_t *ret, GError **error)
{
	const uint64_t values[] = { cause, clamp(from) };

	return next_number(store, STATEMENT_NEXT_PINNING_ROOT_FOR, values, ret, error);
}

bool hash_store_next_pinning_inode(HashStore *store, uint64_t root, uint64_t from, uint64_t *ret,
				   GError **error)
{
	const uint64_t values[] = { clamp(root), clamp(from) };

	return next_number(store, STATEMENT_NEXT_PINNING_INODE, values, ret, error);
}
