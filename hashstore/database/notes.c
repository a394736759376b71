/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/notes.h"

#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"

bool hash_store_get_note(HashStore *store, const char *name, char **ret_text, GError **error)
{
	sqlite3_stmt *get = hash_store_query(store, STATEMENT_GET_NOTE, error);
	bool row;

	*ret_text = NULL;
	if (!get)
		return false;
	sqlite3_bind_text(get, 1, name, -1, SQLITE_STATIC);
	if (!database_step(store->database, get, &row, error))
		return false;
	if (row)
		*ret_text = g_strdup((const char *)sqlite3_column_text(get, 0));
	/* Notes are NOT NULL, so SQLite had no memory to terminate the text. */
	if (row && !*ret_text)
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED,
			    "cannot use the store %s: out of memory", store->path);
	sqlite3_reset(get);

	return !row || *ret_text;
}

bool hash_store_set_note(HashStore *store, const char *name, const char *text, GError **error)
{
	g_autofree char *old = NULL;
	sqlite3_stmt *put;

	if (!hash_store_get_note(store, name, &old, error))
		return false;
	if (g_strcmp0(old, text) == 0)
		return true;

	put = hash_store_change(store, STATEMENT_PUT_NOTE, error);
	if (!put)
		return false;
	sqlite3_bind_text(put, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_text(put, 2, text, -1, SQLITE_STATIC);

	return hash_store_apply(store, put, error);
}

bool hash_store_get_number(HashStore *store, const char *name, uint64_t *ret, GError **error)
{
	g_autofree char *text = NULL;

	if (!hash_store_get_note(store, name, &text, error))
		return false;
	*ret = text ? g_ascii_strtoull(text, NULL, 10) : 0;

	return true;
}

bool hash_store_set_number(HashStore *store, const char *name, uint64_t number, GError **error)
{
	g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, number);

	return hash_store_set_note(store, name, text, error);
}

bool hash_store_lower_number(HashStore *store, const char *name, uint64_t most, GError **error)
{
	uint64_t number;

	if (!hash_store_get_number(store, name, &number, error))
		return false;

	return number <= most || hash_store_set_number(store, name, most, error);
}
