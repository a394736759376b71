/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/store-size.h"

#include "hashstore/database/checkpoint.h"
#include "hashstore/database/store-connection.h"
#include "hashstore/database/store-files.h"
#include "hashstore/database/store-state.h"
#include "hashstore/objects/objects.h"

#include <string.h>

/* The share of page headers in the WAL. */
#define MARGIN_PART 32

/* The part that each table and index belongs to, by name; all others are STORE_PART_OTHERS. */
static const struct {
	const char *name;
	StorePart part;
} places[] = {
	{ "object", STORE_PART_OBJECTS },
	{ "object_id", STORE_PART_OBJECTS },
	{ "place", STORE_PART_OBJECTS },
	{ "page", STORE_PART_ANCHORS },
	{ "fence", STORE_PART_ANCHORS },
	{ "segment", STORE_PART_ANCHORS },
	{ "directory", STORE_PART_NAMES },
	{ "pinned", STORE_PART_PINNED },
	{ "pinned_by", STORE_PART_PINNED },
	{ "pinned_for", STORE_PART_PINNED },
	{ "pinned_by_holders", STORE_PART_PINNED },
	{ "holders", STORE_PART_PINNED },
	{ "differed", STORE_PART_DIFFERED },
	{ "pass", STORE_PART_HISTORY },
	{ "pass_total", STORE_PART_HISTORY },
	{ "skipped", STORE_PART_HISTORY },
};

static const char *const row_counts[N_STORE_PARTS] = {
	[STORE_PART_OBJECTS] = "SELECT count(*) FROM object",
	[STORE_PART_ANCHORS] = "SELECT " DATABASE_SUM("anchors") " FROM segment",
	[STORE_PART_NAMES] = "SELECT count(*) FROM directory",
	[STORE_PART_PINNED] = "SELECT count(*) FROM pinned",
	[STORE_PART_DIFFERED] = "SELECT count(*) FROM differed",
	[STORE_PART_HISTORY] = "SELECT count(*) FROM pass",
	[STORE_PART_OTHERS] = "SELECT (SELECT count(*) FROM half) + (SELECT count(*) FROM note)",
};

const char *store_part_name(StorePart part)
{
	static const char *const names[] = {
		"objects", "anchors", "names", "pinned", "differed", "history", "others", "free",
	};

	return names[part];
}

static StorePart part_of(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++)
		if (strcmp(places[i].name, name) == 0)
			return places[i].part;
	return STORE_PART_OTHERS;
}

static bool count_rows(Database *snapshot, StoreSize *ret, GError **error)
{
	for (size_t i = 0; i < N_STORE_PARTS; i++) {
		int64_t rows = 0;

		if (row_counts[i] && !database_get_int(snapshot, row_counts[i], &rows, error))
			return false;
		ret->rows[i] = (uint64_t)rows;
	}
	return true;
}

static bool count_pages(Database *snapshot, StoreSize *ret, GError **error)
{
	g_autoptr(sqlite3_stmt) sizes = NULL;
	int64_t n_free, page_bytes;
	bool row;

	sizes = database_prepare(snapshot, "SELECT name, pgsize FROM dbstat WHERE aggregate = 1",
				 error);
	if (!sizes || !database_get_int(snapshot, "PRAGMA freelist_count", &n_free, error) ||
	    !database_get_int(snapshot, "PRAGMA page_size", &page_bytes, error) ||
	    !database_step(snapshot, sizes, &row, error))
		return false;

	while (row) {
		const char *name = (const char *)sqlite3_column_text(sizes, 0);

		ret->bytes[part_of(name ? name : "")] += (uint64_t)sqlite3_column_int64(sizes, 1);
		if (!database_step(snapshot, sizes, &row, error))
			return false;
	}

	ret->bytes[STORE_PART_FREE] = (uint64_t)(n_free * page_bytes);
	ret->has_bytes = true;
	return true;
}

/* Stretches consist of extents, which are counted. */
static bool count_data(HashStore *store, StoreSize *ret, GError **error)
{
	bool has_extents = hash_store_has_extents(store);
	g_autoptr(ObjectCursor) cursor = object_cursor_open(store, error);
	const Object *object;

	if (!cursor)
		return false;

	while (true) {
		if (!object_cursor_next(cursor, &object, error))
			return false;
		if (!object)
			return true;
		if (object->state != OBJECT_SKIPPED &&
		    !(has_extents && object->subvolume == OBJECT_STRETCHES))
			ret->data_bytes += object->size_bytes;
	}
}

static bool look(Database *snapshot, StoreSize *ret, GError **error)
{
	static const char has_pages[] =
		"SELECT count(*) FROM pragma_module_list WHERE name = 'dbstat'";
	int64_t can_count;

	return count_rows(snapshot, ret, error) &&
	       database_get_int(snapshot, has_pages, &can_count, error) &&
	       (can_count == 0 || count_pages(snapshot, ret, error));
}

bool hash_store_size(HashStore *store, StoreSize *ret, GError **error)
{
	Database *snapshot = hash_store_snapshot(store, error);

	memset(ret, 0, sizeof(*ret));
	if (!snapshot)
		return false;

	bool looked = look(snapshot, ret, error);
	hash_store_end_snapshot(store, snapshot);
	ret->wal_bytes = store_files_wal_bytes(store->path);
	return looked && count_data(store, ret, error);
}

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
