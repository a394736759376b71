/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/hash-store.h"

#include "hashstore/anchors/segments.h"
#include "hashstore/anchors/whole-notes.h"
#include "hashstore/database/schema.h"
#include "hashstore/database/store-connection.h"
#include "hashstore/database/store-files.h"
#include "hashstore/database/store-meta.h"
#include "hashstore/database/store-state.h"
#include "hashstore/objects/names.h"
#include "hashstore/objects/objects.h"
#include "hashstore/objects/pinned.h"
#include "hashstore/store-import.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* With less, a sort would have more runs than a merge has buffers. */
#define MEMORY_BYTES_MIN ((size_t)1 << 20)

/* The approximate size of an anchor in a segment. */
#define PACKED_ANCHOR_BYTES 8

static HashStore *store_new(const char *path)
{
	HashStore *store = g_new0(HashStore, 1);

	store->path = g_strdup(path);
	store->lock_fd = -1;
	store->found_bytes = g_byte_array_new();
	store->record = g_byte_array_new();
	store->found_object = g_new0(Object, 1);
	store->found_directory = g_new0(DirectoryName, 1);

	return store;
}

static bool make_schema(HashStore *store, SchemaState state, const HashStoreOptions *options,
			GError **error)
{
	if (!hash_store_begin(store, error) ||
	    !schema_upgrade(store->database, &schema_current, error))
		return false;
	/* The list of equal groups covers all objects of an empty store. */
	if (state == SCHEMA_EMPTY &&
	    (!database_exec(store->database, "DROP INDEX object_id", error) ||
	     !store_meta_begin(store, options, error) ||
	     !hash_store_set_number(store, WHOLE_NOTES_COVERED_BELOW, 1, error)))
		return false;

	store->in_transaction = false;

	return database_exec(store->database, "COMMIT", error);
}

static bool open_database(HashStore *store, const HashStoreOptions *options, GError **error)
{
	SchemaState state;

	/* Examine the file before the first change: another program's file stays as it is. */
	if (!store_connection_open(store, error) ||
	    !schema_examine(store->database, &schema_current, &state, error))
		return false;
	if (state != SCHEMA_EMPTY &&
	    (!store_meta_load(store, error) || !store_meta_check(store, options, error)))
		return false;
	if (state == SCHEMA_CURRENT && store->at_rest)
		return true;

	if (!store_connection_write(store, state == SCHEMA_EMPTY, error))
		return false;

	return state == SCHEMA_CURRENT ||
	       (make_schema(store, state, options, error) && store_meta_load(store, error));
}

HashStore *hash_store_open(const HashStoreOptions *options, GError **error)
{
	g_autofree char *path = store_files_path(options->directory, options->uuid);
	g_autoptr(HashStore) store = store_new(path);

	store->memory_bytes = MAX(options->memory_bytes, MEMORY_BYTES_MIN);
	store->stop = options->stop;
	store->count_reads = options->count_reads;
	store->payer = options->payer;

	if (!store_files_make_directory(options->directory, error))
		return NULL;
	store->lock_fd = store_files_lock(options->directory, options->uuid, error);
	if (store->lock_fd < 0)
		return NULL;
	if (!store_import_delete_left(options->directory, options->uuid, error))
		return NULL;
	if (options->rebuild && !store_files_move_aside(path, NULL, error))
		return NULL;
	if (!store_files_make(path, error))
		return NULL;
	if (!open_database(store, options, error))
		return NULL;

	return g_steal_pointer(&store);
}

HashStore *hash_store_open_to_read(const char *path, GError **error)
{
	g_autoptr(HashStore) store = store_new(path);
	SchemaState state;
	struct stat st;

	if (stat(path, &st) < 0 && errno == ENOENT) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_ABSENT,
			    "there is no store %s", path);
		return NULL;
	}

	store->memory_bytes = MEMORY_BYTES_MIN;
	store->database = database_open(path, DATABASE_READ, error);
	if (!store->database)
		return NULL;
	if (!schema_examine(store->database, &schema_current, &state, error))
		return NULL;
	if (state != SCHEMA_CURRENT && state != SCHEMA_READABLE) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_ABSENT, "the store %s %s",
			    path,
			    state == SCHEMA_EMPTY ? "is empty"
						  : "is of an older dedupd: the next pass "
						    "upgrades it");
		return NULL;
	}
	if (!store_meta_load(store, error))
		return NULL;

	return g_steal_pointer(&store);
}

HashStore *hash_store_open_of(const char *directory, const char *uuid, GError **error)
{
	g_autofree char *path = store_files_path(directory, uuid);
	g_autoptr(HashStore) store = hash_store_open_to_read(path, error);

	if (!store || g_ascii_strcasecmp(hash_store_about(store)->uuid, uuid) == 0)
		return g_steal_pointer(&store);

	g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FOREIGN,
		    "%s is the store of the filesystem %s", path, hash_store_about(store)->uuid);
	return NULL;
}

bool hash_store_delete(const char *directory, const char *uuid, GError **error)
{
	g_autofree char *path = store_files_path(directory, uuid);
	int lock_fd;
	bool done;

	/* Otherwise a lock would be made, and a directory for it. */
	if (!g_file_test(path, G_FILE_TEST_EXISTS))
		return true;

	lock_fd = store_files_lock(directory, uuid, error);
	if (lock_fd < 0)
		return false;

	done = store_files_delete(path, error) && store_import_delete_left(directory, uuid, error);
	close(lock_fd);
	return done;
}

void hash_store_close(HashStore *store)
{
	if (!store)
		return;

	store_connection_close(store);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	g_byte_array_unref(store->found_bytes);
	g_byte_array_unref(store->record);
	whole_notes_clear(store);
	g_free(store->found_object);
	g_free(store->found_directory);
	g_free(store->anchors);
	g_free(store->path);
	g_free(store);
}

uint64_t hash_store_file_bytes(const HashStore *store)
{
	return store_files_database_bytes(store->path) + store_files_wal_bytes(store->path);
}

uint64_t hash_store_content_bytes(HashStore *store)
{
	uint64_t bytes = 0;

	if (!hash_store_query_number(store, STATEMENT_GET_CONTENT_BYTES, NULL, &bytes, NULL) ||
	    bytes == 0)
		return 0;

	return bytes + store->n_anchors * PACKED_ANCHOR_BYTES;
}

bool hash_store_unsettle(HashStore *store, GError **error)
{
	if (store->counts.settled_below == 1)
		return true;
	if (!hash_store_begin(store, error))
		return false;
	store->counts.settled_below = 1;

	/* All pinned extents are planned again, whatever their cause. */
	return hash_store_clear_pinned(store, error);
}

bool hash_store_roll_back(HashStore *store, GError **error)
{
	return !store->in_transaction || store->failed || hash_store_undo_all(store, error);
}

bool hash_store_forget_all(HashStore *store, GError **error)
{
	if (!hash_store_begin(store, error))
		return false;
	if (!database_exec(store->database,
			   "DELETE FROM object; DELETE FROM half; DELETE FROM directory;"
			   "DELETE FROM segment; DELETE FROM fence; DELETE FROM page;"
			   "DELETE FROM meta WHERE name GLOB 'merged_*';"
			   "DELETE FROM open_extent; DELETE FROM differed; DELETE FROM pinned;"
			   "DELETE FROM holders; DELETE FROM read_sums; DELETE FROM note;"
			   "DELETE FROM kept_group; DELETE FROM loose_object; DELETE FROM place;",
			   error)) {
		store->failed = true;
		return false;
	}

	whole_notes_clear(store);
	store->n_anchors = 0;
	store->n_renewed = 0;
	store->halves = 0;
	hash_store_forget_row_counts(store);
	store->counts.objects = 0;
	store->counts.dead = 0;
	store->counts.settled_below = store->counts.next_object;
	return hash_store_set_number(store, WHOLE_NOTES_COVERED_BELOW, store->counts.next_object,
				     error);
}
