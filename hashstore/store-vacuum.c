/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/store-vacuum.h"

#include "hashstore/database/checkpoint.h"
#include "hashstore/database/store-connection.h"
#include "hashstore/database/store-state.h"

/* The share of page headers in the WAL. */
#define MARGIN_PART 32

bool hash_store_vacuum_needs(HashStore *store, uint64_t *ret_bytes, GError **error)
{
	int64_t n_pages, n_free, page_bytes;

	if (!database_get_int(store->database, "PRAGMA page_count", &n_pages, error) ||
	    !database_get_int(store->database, "PRAGMA freelist_count", &n_free, error) ||
	    !database_get_int(store->database, "PRAGMA page_size", &page_bytes, error))
		return false;

	*ret_bytes = (uint64_t)((n_pages - n_free) * page_bytes) * 2;
	*ret_bytes += *ret_bytes / MARGIN_PART;
	return true;
}

bool hash_store_vacuum(HashStore *store, GError **error)
{
	g_assert(!store->in_transaction);

	/* The connection of a pass keeps temporary files in memory; these need a disk. */
	return (!store->at_rest || store_connection_write(store, false, error)) &&
	       database_exec(store->database, "PRAGMA temp_store = FILE; VACUUM", error) &&
	       checkpoint_run(store->database, NULL, error);
}
