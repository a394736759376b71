/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/objects.h"

#include "hashstore/database/snapshot-query.h"
#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"
#include "hashstore/objects/object-record.h"

#include <string.h>

#define SELECT_OBJECTS "SELECT subvolume, inode, id, record FROM object"
#define IN_ORDER       " ORDER BY subvolume, inode"

struct ObjectCursor {
	SnapshotQuery *all;
	bool is_extents; /* the store is of btrfs */
	Object object;
};

/* False if hash_store_put() could not have stored a row with this key, id and size. */
static bool is_possible(const Object *object, int64_t id, bool has_extents)
{
	return object->subvolume <= INT64_MAX && object->inode <= INT64_MAX && id > 0 &&
	       id < UINT32_MAX &&
	       (!has_extents || object->subvolume > OBJECT_STRETCHES ||
		object->size_bytes <= OBJECT_EXTENT_BYTES_MAX);
}

/* Read a row of (subvolume, inode, id, record). */
static bool read_row(Database *database, sqlite3_stmt *row, bool has_extents, Object *ret,
		     GError **error)
{
	const uint8_t *record = sqlite3_column_blob(row, 3);
	size_t record_bytes = (size_t)sqlite3_column_bytes(row, 3);
	int64_t id = sqlite3_column_int64(row, 2);

	ret->subvolume = (uint64_t)sqlite3_column_int64(row, 0);
	ret->inode = (uint64_t)sqlite3_column_int64(row, 1);
	ret->id = (uint32_t)id;
	if (!record || !object_record_read(record, record_bytes, ret) ||
	    !is_possible(ret, id, has_extents)) {
		database_set_corrupt(database, "an object's record is not valid", error);
		return false;
	}

	return true;
}

static bool drop_half(HashStore *store, uint32_t id, GError **error)
{
	const uint64_t values[] = { id };

	if (!hash_store_change_rows(store, STATEMENT_DROP_HALF, values, error))
		return false;
	store->halves -= (uint64_t)sqlite3_changes(store->database->handle);

	return true;
}

/* Drop the reading state of the file's stored version, unless its id is @keep_id. */
static bool drop_stored_half(HashStore *store, uint64_t subvolume, uint64_t inode, uint32_t keep_id,
			     GError **error)
{
	const uint64_t key[] = { subvolume, inode };
	uint64_t id = keep_id;

	if (store->halves == 0)
		return true;
	if (!hash_store_query_number(store, STATEMENT_FIND_OBJECT_ID, key, &id, error))
		return false;

	return (uint32_t)id == keep_id || drop_half(store, (uint32_t)id, error);
}

static bool write_row(HashStore *store, Statement statement, const Object *object,
		      const GByteArray *record, GError **error)
{
	sqlite3_stmt *write = hash_store_change(store, statement, error);

	if (!write)
		return false;
	sqlite3_bind_int64(write, 1, (int64_t)object->subvolume);
	sqlite3_bind_int64(write, 2, (int64_t)object->inode);
	sqlite3_bind_int64(write, 3, object->id);
	sqlite3_bind_blob(write, 4, record->data, (int)record->len, SQLITE_STATIC);

	return hash_store_apply(store, write, error);
}

static bool put_place(HashStore *store, const Object *object, GError **error)
{
	const uint64_t values[] = { object->id, object->subvolume, object->inode };

	return hash_store_change_rows(store, STATEMENT_PUT_PLACE, values, error);
}

bool hash_store_put(HashStore *store, const Object *object, GError **error)
{
	GByteArray *record = store->record;
	uint32_t keep_half = object->state == OBJECT_HALF ? object->id : 0;

	if (!hash_store_check_key(store, object->subvolume, object->inode, error))
		return false;
	if (!is_possible(object, object->id, hash_store_has_extents(store))) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED,
			    "cannot keep object %u of %" G_GUINT64_FORMAT
			    " bytes in the store %s: it is no possible object",
			    object->id, object->size_bytes, store->path);
		return false;
	}

	if (!drop_stored_half(store, object->subvolume, object->inode, keep_half, error))
		return false;

	g_byte_array_set_size(record, 0);
	object_record_write(object, record);
	if (!write_row(store, STATEMENT_INSERT_OBJECT, object, record, error))
		return false;
	if (sqlite3_changes(store->database->handle) > 0) {
		store->counts.objects++;
		return put_place(store, object, error);
	}

	store->counts.dead++;
	return write_row(store, STATEMENT_UPDATE_OBJECT, object, record, error) &&
	       put_place(store, object, error);
}

bool hash_store_drop(HashStore *store, uint64_t subvolume, uint64_t inode, GError **error)
{
	const uint64_t key[] = { subvolume, inode };

	if (!drop_stored_half(store, subvolume, inode, 0, error) ||
	    !hash_store_change_rows(store, STATEMENT_DROP_OBJECT, key, error))
		return false;
	store->counts.objects -= (uint64_t)sqlite3_changes(store->database->handle);
	store->counts.dead += (uint64_t)sqlite3_changes(store->database->handle);

	return true;
}

static bool find_object(HashStore *store, Statement statement, const uint64_t *values,
			const Object **ret, GError **error)
{
	Object *object = store->found_object;
	sqlite3_stmt *row;

	*ret = NULL;
	if (!hash_store_query_row(store, statement, values, &row, error))
		return false;
	if (!row)
		return true;
	if (!read_row(store->database, row, hash_store_has_extents(store), object, error)) {
		sqlite3_reset(row);
		return false;
	}

	/* The name points into the row, which ends with the statement. */
	g_byte_array_set_size(store->found_bytes, 0);
	g_byte_array_append(store->found_bytes, object->name, (guint)object->name_bytes);
	object->name = store->found_bytes->data;
	sqlite3_reset(row);
	*ret = object;

	return true;
}

static Statement finding_statement(const HashStore *store)
{
	return store->has_id_index ? STATEMENT_FIND_INDEXED_OBJECT : STATEMENT_FIND_OBJECT;
}

bool hash_store_find(HashStore *store, uint32_t id, const Object **ret, GError **error)
{
	const uint64_t values[] = { id };

	return find_object(store, finding_statement(store), values, ret, error);
}

bool hash_store_peek(HashStore *store, uint32_t id, Object *ret, bool *ret_found, GError **error)
{
	const uint64_t values[] = { id };
	sqlite3_stmt *row;
	bool valid;

	*ret_found = false;
	if (!hash_store_query_row(store, finding_statement(store), values, &row, error))
		return false;
	*ret_found = row;
	valid = !row || read_row(store->database, row, hash_store_has_extents(store), ret, error);
	sqlite3_reset(row);
	ret->name = NULL;
	ret->name_bytes = 0;

	return valid;
}

bool hash_store_find_at(HashStore *store, uint64_t subvolume, uint64_t inode, const Object **ret,
			GError **error)
{
	const uint64_t key[] = { subvolume, inode };

	return find_object(store, STATEMENT_FIND_OBJECT_AT, key, ret, error);
}

bool hash_store_find_before(HashStore *store, uint64_t subvolume, uint64_t inode,
			    const Object **ret, GError **error)
{
	const uint64_t key[] = { subvolume, MIN(inode, INT64_MAX) };

	return find_object(store, STATEMENT_FIND_OBJECT_BEFORE, key, ret, error);
}

bool hash_store_put_half(HashStore *store, uint32_t id, uint64_t done_blocks, const void *state,
			 size_t state_bytes, GError **error)
{
	sqlite3_stmt *put;

	/* Delete first: the number of rows shows then that one was added. */
	if (!drop_half(store, id, error))
		return false;

	put = hash_store_change(store, STATEMENT_PUT_HALF, error);
	if (!put)
		return false;
	sqlite3_bind_int64(put, 1, id);
	sqlite3_bind_int64(put, 2, (int64_t)done_blocks);
	sqlite3_bind_blob64(put, 3, state ? state : "", state_bytes, SQLITE_STATIC);
	if (!hash_store_apply(store, put, error))
		return false;
	store->halves++;

	return true;
}

bool hash_store_get_half(HashStore *store, uint32_t id, uint64_t *ret_done_blocks,
			 GBytes **ret_state, GError **error)
{
	const uint64_t values[] = { id };
	sqlite3_stmt *row;

	*ret_done_blocks = 0;
	*ret_state = NULL;
	if (!hash_store_query_row(store, STATEMENT_GET_HALF, values, &row, error))
		return false;
	if (row) {
		const void *state = sqlite3_column_blob(row, 1);

		*ret_done_blocks = (uint64_t)sqlite3_column_int64(row, 0);
		*ret_state = g_bytes_new(state, (size_t)sqlite3_column_bytes(row, 1));
		sqlite3_reset(row);
	}

	return true;
}

bool hash_store_count_objects(HashStore *store, uint64_t *ret, GError **error)
{
	*ret = store->counts.objects;

	return true;
}

bool hash_store_count_objects_of(HashStore *store, uint64_t subvolume, uint64_t *ret,
				 GError **error)
{
	return hash_store_query_number(store, STATEMENT_COUNT_OBJECTS_OF, &subvolume, ret, error);
}

static ObjectCursor *object_cursor_new_take(SnapshotQuery *all)
{
	ObjectCursor *cursor;

	if (!all)
		return NULL;

	cursor = g_new0(ObjectCursor, 1);
	cursor->all = all;
	cursor->is_extents = hash_store_has_extents(all->snapshot->store);
	return cursor;
}

ObjectCursor *object_cursor_open_from(HashStore *store, uint64_t subvolume, GError **error)
{
	g_autofree char *sql = g_strdup_printf(
		SELECT_OBJECTS " WHERE subvolume >= %" G_GUINT64_FORMAT IN_ORDER, subvolume);

	return object_cursor_new_take(snapshot_query_open(store, sql, error));
}

ObjectCursor *object_cursor_open(HashStore *store, GError **error)
{
	return object_cursor_open_from(store, 0, error);
}

ObjectCursor *object_cursor_open_in(StoreSnapshot *snapshot, GError **error)
{
	return object_cursor_new_take(
		snapshot_query_open_in(snapshot, SELECT_OBJECTS IN_ORDER, error));
}

bool object_cursor_next(ObjectCursor *cursor, const Object **ret, GError **error)
{
	sqlite3_stmt *row;

	*ret = NULL;
	if (!snapshot_query_next(cursor->all, &row, error))
		return false;
	if (!row)
		return true;
	if (!read_row(cursor->all->snapshot->database, row, cursor->is_extents, &cursor->object,
		      error) ||
	    !snapshot_query_check_order(cursor->all, cursor->object.subvolume, cursor->object.inode,
					"its objects are not in order", error))
		return false;
	*ret = &cursor->object;

	return true;
}

void object_cursor_close(ObjectCursor *cursor)
{
	if (!cursor)
		return;

	snapshot_query_close(cursor->all);
	g_free(cursor);
}
