/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/open-extents.h"

#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"
#include "hashstore/objects/differed.h"
#include "hashstore/objects/objects.h"
#include "hashstore/objects/pinned.h"
#include "hashstore/objects/read-sums.h"

bool hash_store_put_open_extent(HashStore *store, uint64_t address, GError **error)
{
	return hash_store_change_rows(store, STATEMENT_PUT_OPEN_EXTENT, &address, error);
}

bool hash_store_drop_open_extent(HashStore *store, uint64_t address, GError **error)
{
	return hash_store_change_rows(store, STATEMENT_DROP_OPEN_EXTENT, &address, error);
}

bool hash_store_drop_extent(HashStore *store, uint64_t address, GError **error)
{
	return hash_store_drop_open_extent(store, address, error) &&
	       hash_store_drop_differed(store, address, error) &&
	       hash_store_drop_pinned(store, address, error) &&
	       hash_store_drop_read_sums(store, address, error) &&
	       hash_store_drop(store, OBJECT_EXTENTS, address, error);
}

bool hash_store_next_open_extent(HashStore *store, uint64_t from, uint64_t *ret, GError **error)
{
	return hash_store_next_address(store, STATEMENT_NEXT_OPEN_EXTENT, from, ret, error);
}
