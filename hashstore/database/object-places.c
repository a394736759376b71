/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/object-places.h"

#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"

/* Ids between two looks at the stop flag. */
#define STEP 16384

bool object_places_load(HashStore *store, GError **error)
{
	int64_t n_indexes;

	if (!database_get_int(store->database,
			      "SELECT count(*) FROM sqlite_schema WHERE name = 'object_id'",
			      &n_indexes, error))
		return false;
	store->has_id_index = n_indexes > 0;

	return true;
}

/* Run @statement for all ids, a part at a time. */
static bool run_for_all(HashStore *store, Statement statement, GError **error)
{
	uint64_t end = store->counts.next_object;

	for (uint64_t id = 0; id < end && hash_store_may_continue(store); id += STEP) {
		const uint64_t range[] = { id, id + STEP };

		if (!hash_store_change_rows(store, statement, range, error))
			return false;
	}

	return true;
}

static bool replace_index(HashStore *store, GError **error)
{
	if (!run_for_all(store, STATEMENT_COPY_PLACES, error))
		return false;
	if (!hash_store_may_continue(store))
		return true;
	if (!database_exec(store->database, "DROP INDEX object_id", error))
		return false;
	store->has_id_index = false;

	return true;
}

/* More than a third of the places are of objects that are gone. */
static bool is_search_worth(HashStore *store, bool *ret, GError **error)
{
	int64_t n_places;

	if (!database_get_int(store->database, "SELECT count(*) FROM place", &n_places, error))
		return false;
	*ret = (uint64_t)n_places / 3 * 2 > store->counts.objects;

	return true;
}

bool object_places_settle(HashStore *store, bool is_thorough, GError **error)
{
	bool is_worth;

	if (store->has_id_index)
		return replace_index(store, error);
	if (!is_thorough)
		return true;

	return is_search_worth(store, &is_worth, error) &&
	       (!is_worth || run_for_all(store, STATEMENT_DROP_PLACES, error));
}
