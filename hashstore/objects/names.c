/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/names.h"

#include "hashstore/database/snapshot-query.h"
#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"

/* The limit of nested directories; a longer path is a circle. */
#define CLIMB_MAX 4096

/* Longer than any path that could be opened. */
#define PATH_BYTES_MAX ((size_t)1 << 20)

struct DirectoryCursor {
	SnapshotQuery *all;
	DirectoryName name;
};

/* Read a row of all columns; the name points into the row. */
static void read_row(sqlite3_stmt *row, DirectoryName *ret)
{
	ret->subvolume = (uint64_t)sqlite3_column_int64(row, 0);
	ret->inode = (uint64_t)sqlite3_column_int64(row, 1);
	ret->parent_subvolume = (uint64_t)sqlite3_column_int64(row, 2);
	ret->parent = (uint64_t)sqlite3_column_int64(row, 3);
	ret->name = sqlite3_column_blob(row, 4);
	ret->name_bytes = (size_t)sqlite3_column_bytes(row, 4);
	ret->stamp = (uint64_t)sqlite3_column_int64(row, 5);
}

bool hash_store_put_directory(HashStore *store, const DirectoryName *name, GError **error)
{
	const void *bytes = name->name_bytes > 0 ? name->name : (const uint8_t *)"";
	sqlite3_stmt *put;

	if (!hash_store_check_key(store, name->subvolume, name->inode, error))
		return false;

	put = hash_store_change(store, STATEMENT_PUT_DIRECTORY, error);
	if (!put)
		return false;
	sqlite3_bind_int64(put, 1, (int64_t)name->subvolume);
	sqlite3_bind_int64(put, 2, (int64_t)name->inode);
	sqlite3_bind_int64(put, 3, (int64_t)name->parent_subvolume);
	sqlite3_bind_int64(put, 4, (int64_t)name->parent);
	sqlite3_bind_blob64(put, 5, bytes, name->name_bytes, SQLITE_STATIC);
	sqlite3_bind_int64(put, 6, (int64_t)name->stamp);

	return hash_store_apply(store, put, error);
}

bool hash_store_drop_directory(HashStore *store, uint64_t subvolume, uint64_t inode, GError **error)
{
	const uint64_t key[] = { subvolume, inode };

	return hash_store_change_rows(store, STATEMENT_DROP_DIRECTORY, key, error);
}

bool hash_store_doubt_directories(HashStore *store, GError **error)
{
	return hash_store_change_rows(store, STATEMENT_DOUBT_DIRECTORIES, NULL, error);
}

bool hash_store_find_directory(HashStore *store, uint64_t subvolume, uint64_t inode,
			       const DirectoryName **ret, GError **error)
{
	const uint64_t key[] = { subvolume, inode };
	DirectoryName *name = store->found_directory;
	sqlite3_stmt *row;

	*ret = NULL;
	if (!hash_store_query_row(store, STATEMENT_FIND_DIRECTORY, key, &row, error))
		return false;
	if (!row)
		return true;

	read_row(row, name);
	g_byte_array_set_size(store->found_bytes, 0);
	if (name->name_bytes > 0)
		g_byte_array_append(store->found_bytes, name->name, (guint)name->name_bytes);
	name->name = store->found_bytes->data;
	sqlite3_reset(row);
	*ret = name;

	return true;
}

static void prepend(GString *path, const uint8_t *name, size_t name_bytes)
{
	if (path->len > 0 && (name_bytes == 0 || name[name_bytes - 1] != '/'))
		g_string_prepend_c(path, '/');
	g_string_prepend_len(path, (const char *)name, (gssize)name_bytes);
}

char *hash_store_directory_path(HashStore *store, uint64_t subvolume, uint64_t inode)
{
	g_autoptr(GString) path = g_string_new(NULL);
	bool is_whole = false;

	for (int i = 0; i < CLIMB_MAX && path->len < PATH_BYTES_MAX && !is_whole; i++) {
		g_autoptr(GError) error = NULL;
		const DirectoryName *name;

		if (!hash_store_find_directory(store, subvolume, inode, &name, &error) || !name)
			break;
		prepend(path, name->name, name->name_bytes);
		is_whole = name->parent == 0;
		subvolume = name->parent_subvolume;
		inode = name->parent;
	}

	if (!is_whole)
		prepend(path, (const uint8_t *)"?", 1);
	return g_string_free(g_steal_pointer(&path), false);
}

static DirectoryCursor *directory_cursor_new_take(SnapshotQuery *all)
{
	DirectoryCursor *cursor;

	if (!all)
		return NULL;

	cursor = g_new0(DirectoryCursor, 1);
	cursor->all = all;
	return cursor;
}

static const char select_all[] = "SELECT subvolume, inode, parent_subvolume, parent, name, stamp"
				 " FROM directory ORDER BY subvolume, inode";

DirectoryCursor *directory_cursor_open(HashStore *store, GError **error)
{
	return directory_cursor_new_take(snapshot_query_open(store, select_all, error));
}

DirectoryCursor *directory_cursor_open_in(StoreSnapshot *snapshot, GError **error)
{
	return directory_cursor_new_take(snapshot_query_open_in(snapshot, select_all, error));
}

bool directory_cursor_next(DirectoryCursor *cursor, const DirectoryName **ret, GError **error)
{
	sqlite3_stmt *row;

	*ret = NULL;
	if (!snapshot_query_next(cursor->all, &row, error))
		return false;
	if (!row)
		return true;
	read_row(row, &cursor->name);
	if (!snapshot_query_check_order(cursor->all, cursor->name.subvolume, cursor->name.inode,
					"its directories are not in order", error))
		return false;
	*ret = &cursor->name;

	return true;
}

void directory_cursor_close(DirectoryCursor *cursor)
{
	if (!cursor)
		return;

	snapshot_query_close(cursor->all);
	g_free(cursor);
}
