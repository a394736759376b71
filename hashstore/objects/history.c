/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/history.h"

#include "hashstore/database/schema.h"
#include "hashstore/database/snapshot-query.h"
#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"

#include <string.h>

const char *pass_outcome_name(PassOutcome outcome)
{
	switch (outcome) {
	case PASS_COMPLETE:
		return "complete";
	case PASS_INTERRUPTED:
		return "interrupted";
	case PASS_FAILED:
		return "failed";
	}

	return "unknown";
}

/* Older passes are dropped, except from the totals: a year with one pass an hour. */
#define PASSES_MAX 8760

struct PassCursor {
	SnapshotQuery *all;
	PassRecord record;
};

void pass_record_clear(PassRecord *record)
{
	g_free(record->mount_point);
	memset(record, 0, sizeof(*record));
}

static bool put_row(HashStore *store, PassRecord *record, GError **error)
{
	sqlite3_stmt *put = hash_store_change(store, STATEMENT_PUT_PASS, error);
	const char *mount_point = record->mount_point ? record->mount_point : "";

	if (!put)
		return false;
	sqlite3_bind_int64(put, 1, record->started_usec);
	sqlite3_bind_int64(put, 2, record->ended_usec);
	sqlite3_bind_int(put, 3, (int)record->outcome);
	sqlite3_bind_blob64(put, 4, mount_point, strlen(mount_point), SQLITE_STATIC);
	sqlite3_bind_int64(put, 5, (int64_t)record->files);
	sqlite3_bind_int64(put, 6, (int64_t)record->objects_read);
	sqlite3_bind_int64(put, 7, (int64_t)record->finding_bytes);
	sqlite3_bind_int64(put, 8, (int64_t)record->compare_bytes);
	sqlite3_bind_int64(put, 9, (int64_t)record->shared_bytes);
	sqlite3_bind_int64(put, 10, (int64_t)record->freed_bytes);
	sqlite3_bind_int64(put, 11, (int64_t)record->hole_bytes);
	sqlite3_bind_int64(put, 12, (int64_t)record->runs_shared);
	sqlite3_bind_int64(put, 13, (int64_t)record->runs_differed);
	sqlite3_bind_int64(put, 14, (int64_t)record->capped);
	sqlite3_bind_int64(put, 15, (int64_t)record->pinned_bytes);
	sqlite3_bind_int64(put, 16, (int64_t)record->rewritten_bytes);
	sqlite3_bind_int64(put, 17, record->metadata_delta_bytes);
	sqlite3_bind_int(put, 18, record->is_checked);
	sqlite3_bind_int64(put, 19, record->drift_bytes);
	sqlite3_bind_int64(put, 20, (int64_t)record->deferred_bytes);
	sqlite3_bind_int64(put, 21, (int64_t)record->released_bytes);
	sqlite3_bind_int64(put, 22, (int64_t)record->deferred_written_bytes);
	sqlite3_bind_null(put, 23);
	sqlite3_bind_null(put, 24);
	sqlite3_bind_int64(put, 25, (int64_t)record->used_bytes);
	if (record->has_extents)
		sqlite3_bind_int64(put, 23, (int64_t)record->files);
	if (record->has_net)
		sqlite3_bind_int64(put, 24, record->net_bytes);
	if (!hash_store_apply(store, put, error))
		return false;
	record->id = sqlite3_last_insert_rowid(store->database->handle);

	return true;
}

static bool add_total(HashStore *store, const PassRecord *record, GError **error)
{
	const uint64_t values[] = { record->freed_bytes,
				    record->finding_bytes,
				    record->compare_bytes,
				    record->wasted_bytes,
				    record->outcome == PASS_INTERRUPTED,
				    record->outcome == PASS_FAILED };

	return hash_store_change_rows(store, STATEMENT_ADD_TOTAL, values, error);
}

static bool prune(HashStore *store, int64_t newest, GError **error)
{
	const uint64_t values[] = { (uint64_t)(newest - PASSES_MAX) };

	return hash_store_change_rows(store, STATEMENT_PRUNE_PASSES, values, error);
}

bool hash_store_put_pass(HashStore *store, PassRecord *record, GError **error)
{
	return put_row(store, record, error) && add_total(store, record, error) &&
	       prune(store, record->id, error);
}

bool hash_store_drop_passes_before(HashStore *store, int64_t usec, uint64_t *ret_n, GError **error)
{
	const uint64_t values[] = { (uint64_t)usec };

	if (!hash_store_change_rows(store, STATEMENT_DROP_OLD_PASSES, values, error))
		return false;

	*ret_n = (uint64_t)sqlite3_changes(store->database->handle);
	return true;
}

PassCursor *pass_cursor_open(HashStore *store, GError **error)
{
	g_autoptr(PassCursor) cursor = g_new0(PassCursor, 1);

	cursor->all = snapshot_query_open(
		store,
		"SELECT id, started_usec, ended_usec, outcome, mount_point, files, objects_read,"
		" finding_bytes, compare_bytes, shared_bytes, freed_bytes, hole_bytes,"
		" runs_shared, runs_differed, capped, pinned_bytes, rewritten_bytes,"
		" metadata_delta_bytes, is_checked, drift_bytes, deferred_bytes, released_bytes,"
		" deferred_written_bytes, extents, net_bytes,"
		/* A pass of an older store has no such column, and the name then is that of the constant. */
		" (SELECT used_bytes FROM pass AS same WHERE same.id = pass.id)"
		" FROM pass, (SELECT 0 AS used_bytes) ORDER BY id DESC",
		error);

	return cursor->all ? g_steal_pointer(&cursor) : NULL;
}

static void read_row(sqlite3_stmt *row, PassRecord *ret)
{
	const void *mount_point = sqlite3_column_blob(row, 4);

	ret->id = sqlite3_column_int64(row, 0);
	ret->started_usec = sqlite3_column_int64(row, 1);
	ret->ended_usec = sqlite3_column_int64(row, 2);
	ret->outcome = (PassOutcome)sqlite3_column_int(row, 3);
	ret->mount_point =
		g_strndup(mount_point ? mount_point : "", (gsize)sqlite3_column_bytes(row, 4));
	ret->files = (uint64_t)sqlite3_column_int64(row, 5);
	ret->objects_read = (uint64_t)sqlite3_column_int64(row, 6);
	ret->finding_bytes = (uint64_t)sqlite3_column_int64(row, 7);
	ret->compare_bytes = (uint64_t)sqlite3_column_int64(row, 8);
	ret->shared_bytes = (uint64_t)sqlite3_column_int64(row, 9);
	ret->freed_bytes = (uint64_t)sqlite3_column_int64(row, 10);
	ret->hole_bytes = (uint64_t)sqlite3_column_int64(row, 11);
	ret->runs_shared = (uint64_t)sqlite3_column_int64(row, 12);
	ret->runs_differed = (uint64_t)sqlite3_column_int64(row, 13);
	ret->capped = (uint64_t)sqlite3_column_int64(row, 14);
	ret->pinned_bytes = (uint64_t)sqlite3_column_int64(row, 15);
	ret->rewritten_bytes = (uint64_t)sqlite3_column_int64(row, 16);
	ret->metadata_delta_bytes = sqlite3_column_int64(row, 17);
	ret->is_checked = sqlite3_column_int(row, 18) != 0;
	ret->drift_bytes = sqlite3_column_int64(row, 19);
	ret->deferred_bytes = (uint64_t)sqlite3_column_int64(row, 20);
	ret->released_bytes = (uint64_t)sqlite3_column_int64(row, 21);
	ret->deferred_written_bytes = (uint64_t)sqlite3_column_int64(row, 22);
	ret->has_extents = sqlite3_column_type(row, 23) != SQLITE_NULL;
	ret->has_net = sqlite3_column_type(row, 24) != SQLITE_NULL;
	ret->net_bytes = sqlite3_column_int64(row, 24);
	ret->used_bytes = (uint64_t)sqlite3_column_int64(row, 25);
}

bool pass_cursor_next(PassCursor *cursor, const PassRecord **ret, GError **error)
{
	sqlite3_stmt *row;

	*ret = NULL;
	pass_record_clear(&cursor->record);
	if (!snapshot_query_next(cursor->all, &row, error))
		return false;
	if (!row)
		return true;
	read_row(row, &cursor->record);
	*ret = &cursor->record;

	return true;
}

void pass_cursor_close(PassCursor *cursor)
{
	if (!cursor)
		return;

	pass_record_clear(&cursor->record);
	snapshot_query_close(cursor->all);
	g_free(cursor);
}

bool hash_store_pass_totals(HashStore *store, PassTotals *ret, GError **error)
{
	sqlite3_stmt *row;
	int64_t version;

	memset(ret, 0, sizeof(*ret));
	if (!database_get_int(store->database, "PRAGMA user_version", &version, error) ||
	    !hash_store_query_row(store,
				  version < SCHEMA_WITH_OUTCOMES ? STATEMENT_GET_EARLIER_TOTAL
								 : STATEMENT_GET_TOTAL,
				  NULL, &row, error))
		return false;
	if (row) {
		ret->passes = (uint64_t)sqlite3_column_int64(row, 0);
		ret->freed_bytes = (uint64_t)sqlite3_column_int64(row, 1);
		ret->finding_bytes = (uint64_t)sqlite3_column_int64(row, 2);
		ret->compare_bytes = (uint64_t)sqlite3_column_int64(row, 3);
		ret->wasted_bytes = (uint64_t)sqlite3_column_int64(row, 4);
		ret->interrupted = (uint64_t)sqlite3_column_int64(row, 5);
		ret->failed = (uint64_t)sqlite3_column_int64(row, 6);
		sqlite3_reset(row);
	}

	return true;
}
