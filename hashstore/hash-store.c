/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/hash-store.h"

#include "hashstore/hash-store-internal.h"
#include "hashstore/pinned.h"
#include "hashstore/schema.h"
#include "hashstore/segments.h"
#include "hashstore/store-connection.h"
#include "hashstore/store-files.h"
#include "hashstore/store-import.h"
#include "hashstore/store-meta.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Below this a sort would be cut into more pieces than a merge has buffers for. */
#define MEMORY_BYTES_MIN ((size_t)1 << 20)

/* What an anchor takes in a segment, about. */
#define PACKED_ANCHOR_BYTES 10

/* So long one transaction of reads lasts. */
#define READS_USEC (G_USEC_PER_SEC / 10)

#define TEXT_OF_(number) #number
#define TEXT_OF(number)  TEXT_OF_(number)

G_DEFINE_QUARK(dedupd_hash_store_error, hash_store_error)

static HashStore *store_new(const char *path)
{
	HashStore *store = g_new0(HashStore, 1);

	store->path = g_strdup(path);
	store->lock_fd = -1;
	store->found_bytes = g_byte_array_new();
	store->record = g_byte_array_new();

	return store;
}

static bool make_schema(HashStore *store, SchemaState state, const HashStoreOptions *options,
			GError **error)
{
	if (!hash_store_begin(store, error) ||
	    !schema_upgrade(store->database, &schema_current, error))
		return false;
	if (state == SCHEMA_EMPTY && !store_meta_begin(store, options, error))
		return false;

	store->in_transaction = false;

	return database_exec(store->database, "COMMIT", error);
}

static bool open_database(HashStore *store, const HashStoreOptions *options, GError **error)
{
	SchemaState state;

	/* Looked at before the first change: what is not ours stays as it is. */
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
	g_autofree char *name = g_strconcat(options->uuid, ".sqlite", NULL);
	g_autofree char *path = g_build_filename(options->directory, name, NULL);
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
	if (state != SCHEMA_CURRENT) {
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

bool hash_store_delete(const char *directory, const char *uuid, GError **error)
{
	g_autofree char *name = g_strconcat(uuid, ".sqlite", NULL);
	g_autofree char *path = g_build_filename(directory, name, NULL);
	int lock_fd;
	bool done;

	/* Or a lock would be made, and a directory for it. */
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
	g_free(store->anchors);
	g_free(store->path);
	g_free(store);
}

const HashStoreAbout *hash_store_about(const HashStore *store)
{
	return &store->about;
}

bool hash_store_has_extents(const HashStore *store)
{
	return strcmp(store->about.kind, "btrfs") == 0;
}

const char *hash_store_path(const HashStore *store)
{
	return store->path;
}

uint64_t hash_store_file_bytes(const HashStore *store)
{
	return store_files_database_bytes(store->path) + store_files_wal_bytes(store->path);
}

uint64_t hash_store_content_bytes(HashStore *store)
{
	sqlite3_stmt *query = hash_store_query(store, STATEMENT_GET_CONTENT_BYTES, NULL);
	uint64_t bytes;
	bool row;

	if (!query || !database_step(store->database, query, &row, NULL) || !row)
		return 0;

	bytes = (uint64_t)sqlite3_column_int64(query, 0) + store->n_anchors * PACKED_ANCHOR_BYTES;
	sqlite3_reset(query);
	return bytes;
}

uint64_t hash_store_thread_read_bytes(const HashStore *store)
{
	return store->thread_read_bytes;
}

sqlite3_stmt *hash_store_query(HashStore *store, Statement statement, GError **error)
{
	sqlite3_stmt **prepared = &store->statements[statement];

	if (!*prepared)
		*prepared = database_prepare(store->database, statement_sql(statement), error);
	else
		sqlite3_reset(*prepared);

	return *prepared;
}

bool hash_store_next_address(HashStore *store, Statement statement, uint64_t from, uint64_t *ret,
			     GError **error)
{
	sqlite3_stmt *next;
	bool row;

	*ret = UINT64_MAX;
	if (from > INT64_MAX)
		return true;

	next = hash_store_query(store, statement, error);
	if (!next)
		return false;
	sqlite3_bind_int64(next, 1, (int64_t)from);
	if (!database_step(store->database, next, &row, error))
		return false;
	if (row)
		*ret = (uint64_t)sqlite3_column_int64(next, 0);
	sqlite3_reset(next);

	return true;
}

bool hash_store_begin(HashStore *store, GError **error)
{
	sqlite3_stmt *begin;

	if (store->failed) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED,
			    "the store %s is not written any more after an earlier failure",
			    store->path);
		return false;
	}
	if (store->in_transaction)
		return true;
	if (store->at_rest && !store_connection_write(store, false, error))
		return false;

	begin = hash_store_query(store, STATEMENT_BEGIN, error);
	if (!begin || !database_run(store->database, begin, error))
		return false;
	store->in_transaction = true;

	return true;
}

bool hash_store_read_on(HashStore *store, GError **error)
{
	int64_t now_usec = g_get_monotonic_time();

	if (store->reads_since_usec > 0 && now_usec - store->reads_since_usec < READS_USEC)
		return true;

	hash_store_end_reads(store);
	if (!database_exec(store->database, "BEGIN", error))
		return false;
	store->reads_since_usec = now_usec;
	return true;
}

void hash_store_end_reads(HashStore *store)
{
	/* Nothing was written, so a failure loses nothing. */
	if (store->reads_since_usec > 0)
		sqlite3_exec(store->database->handle, "COMMIT", NULL, NULL, NULL);
	store->reads_since_usec = 0;
}

sqlite3_stmt *hash_store_change(HashStore *store, Statement statement, GError **error)
{
	if (!hash_store_begin(store, error))
		return NULL;

	return hash_store_query(store, statement, error);
}

bool hash_store_apply(HashStore *store, sqlite3_stmt *statement, GError **error)
{
	if (database_run(store->database, statement, error))
		return true;

	store->failed = true;

	return false;
}

static bool end_transaction(HashStore *store, Statement how, GError **error)
{
	sqlite3_stmt *end = hash_store_query(store, how, error);

	if (!end || !hash_store_apply(store, end, error))
		return false;
	store->in_transaction = false;

	return true;
}

bool hash_store_keep(HashStore *store, GError **error)
{
	if (!store_meta_save_counts(store, error) ||
	    !end_transaction(store, STATEMENT_COMMIT, error))
		return false;
	store->saved_counts = store->counts;

	return true;
}

bool hash_store_undo(HashStore *store, GError **error)
{
	return end_transaction(store, STATEMENT_ROLLBACK, error);
}

bool hash_store_undo_all(HashStore *store, GError **error)
{
	store->n_anchors = 0;
	store->n_renewed = 0;
	store->differed_known = false;
	store->pinned_known = false;
	store->read_sums_known = false;
	return hash_store_undo(store, error) && store_meta_load(store, error);
}

bool hash_store_commit(HashStore *store, GError **error)
{
	if (!store->in_transaction && !store->failed)
		return true;

	/* Begins nothing: it refuses a store that failed. */
	return hash_store_begin(store, error) && hash_store_flush_anchors(store, error) &&
	       hash_store_keep(store, error) && segments_limit_unsettled(store, error) &&
	       store_connection_checkpoint(store, error);
}

bool hash_store_may_continue(const HashStore *store)
{
	if (store->payer)
		store->payer->pay(store->payer->data);

	return !store->stop || !atomic_load_explicit(store->stop, memory_order_relaxed);
}

bool hash_store_new_object(HashStore *store, uint32_t *ret, GError **error)
{
	if (!hash_store_begin(store, error))
		return false;
	if (store->counts.next_object == UINT32_MAX) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED,
			    "the store %s has no more numbers for objects: use --rebuild",
			    store->path);
		return false;
	}
	*ret = store->counts.next_object++;

	return true;
}

uint32_t hash_store_next_object(const HashStore *store)
{
	return store->counts.next_object;
}

uint32_t hash_store_settled_below(const HashStore *store)
{
	return store->counts.settled_below;
}

bool hash_store_unsettle(HashStore *store, GError **error)
{
	if (store->counts.settled_below == 1)
		return true;
	if (!hash_store_begin(store, error))
		return false;
	store->counts.settled_below = 1;

	/* All of them are planned for again, whatever pinned them. */
	return hash_store_clear_pinned(store, error);
}

bool hash_store_forget_all(HashStore *store, GError **error)
{
	if (!hash_store_begin(store, error))
		return false;
	if (!database_exec(store->database,
			   "DELETE FROM object; DELETE FROM half; DELETE FROM directory;"
			   "DELETE FROM segment; DELETE FROM fence; DELETE FROM page;"
			   "DELETE FROM open_extent; DELETE FROM differed; DELETE FROM pinned;"
			   "DELETE FROM holders; DELETE FROM read_sums; DELETE FROM note;",
			   error)) {
		store->failed = true;
		return false;
	}

	store->n_anchors = 0;
	store->n_renewed = 0;
	store->halves = 0;
	store->differed_known = false;
	store->pinned_known = false;
	store->read_sums_known = false;
	store->counts.objects = 0;
	store->counts.dead = 0;
	store->counts.settled_below = store->counts.next_object;
	return true;
}
