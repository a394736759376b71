/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/snapshot-query.h"
#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"
#include "hashstore/objects/history.h"

#include <string.h>

/* The examples are in one BLOB, each with its NUL. */
struct SkipCursor {
	SnapshotQuery *all;
	SkipRecord record;
	GPtrArray *examples; /* pointers into the row, and a NULL */
};

bool hash_store_clear_skips(HashStore *store, GError **error)
{
	sqlite3_stmt *row;

	if (!hash_store_query_row(store, STATEMENT_ANY_SKIP, NULL, &row, error))
		return false;
	if (!row)
		return true;
	sqlite3_reset(row);

	return hash_store_change_rows(store, STATEMENT_CLEAR_SKIPS, NULL, error);
}

bool hash_store_put_skip(HashStore *store, const SkipRecord *skip, GError **error)
{
	g_autoptr(GByteArray) examples = g_byte_array_sized_new(256);
	sqlite3_stmt *put = hash_store_change(store, STATEMENT_PUT_SKIP, error);

	if (!put)
		return false;
	for (size_t i = 0; skip->examples && skip->examples[i]; i++) {
		const char *example = skip->examples[i];

		g_byte_array_append(examples, (const guint8 *)example, (guint)strlen(example) + 1);
	}
	sqlite3_bind_text(put, 1, skip->reason, -1, SQLITE_STATIC);
	sqlite3_bind_int64(put, 2, (int64_t)skip->count);
	sqlite3_bind_int64(put, 3, (int64_t)skip->bytes);
	sqlite3_bind_blob64(put, 4, examples->data, examples->len, SQLITE_STATIC);

	return hash_store_apply(store, put, error);
}

SkipCursor *skip_cursor_open(HashStore *store, GError **error)
{
	g_autoptr(SkipCursor) cursor = g_new0(SkipCursor, 1);

	cursor->examples = g_ptr_array_new();
	cursor->all = snapshot_query_open(store,
					  "SELECT reason, count, bytes, examples FROM skipped"
					  " ORDER BY bytes DESC, count DESC, reason",
					  error);

	return cursor->all ? g_steal_pointer(&cursor) : NULL;
}

static bool read_examples(SkipCursor *cursor, sqlite3_stmt *row, GError **error)
{
	const char *next = sqlite3_column_blob(row, 3);
	size_t left = (size_t)sqlite3_column_bytes(row, 3);

	g_ptr_array_set_size(cursor->examples, 0);
	while (left > 0) {
		const char *nul = memchr(next, '\0', left);

		if (!nul) {
			database_set_corrupt(cursor->all->snapshot->database,
					     "an example has no end", error);
			return false;
		}
		g_ptr_array_add(cursor->examples, (gpointer)next);
		left -= (size_t)(nul + 1 - next);
		next = nul + 1;
	}
	g_ptr_array_add(cursor->examples, NULL);

	return true;
}

bool skip_cursor_next(SkipCursor *cursor, const SkipRecord **ret, GError **error)
{
	sqlite3_stmt *row;

	*ret = NULL;
	if (!snapshot_query_next(cursor->all, &row, error))
		return false;
	if (!row)
		return true;

	cursor->record.reason = (const char *)sqlite3_column_text(row, 0);
	cursor->record.count = (uint64_t)sqlite3_column_int64(row, 1);
	cursor->record.bytes = (uint64_t)sqlite3_column_int64(row, 2);
	if (!cursor->record.reason) {
		database_set_corrupt(cursor->all->snapshot->database,
				     "a skipped file has no reason", error);
		return false;
	}
	if (!read_examples(cursor, row, error))
		return false;
	cursor->record.examples = (const char *const *)cursor->examples->pdata;
	*ret = &cursor->record;

	return true;
}

void skip_cursor_close(SkipCursor *cursor)
{
	if (!cursor)
		return;

	snapshot_query_close(cursor->all);
	g_ptr_array_unref(cursor->examples);
	g_free(cursor);
}
