/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/store-list.h"
#include "cli/stores/stale-files.h"
#include "cli/terminal/message.h"
#include "cli/terminal/pass-text.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "common/text/size-text.h"
#include "hashstore/objects/stand-note.h"
#include "hashstore/store-check.h"
#include "hashstore/store-size.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <sys/statvfs.h>

#define TIB (UINT64_C(1) << 40)

/* For changing a store. */
#define MEMORY_BYTES ((size_t)16 << 20)

#define SIZE_COLUMNS(COLUMN)                                                                       \
	COLUMN(SIZE_MOUNT, "MOUNT", "mount_point", COLUMN_TEXT)                                    \
	COLUMN(SIZE_UUID, NULL, "uuid", COLUMN_TEXT)                                               \
	COLUMN(SIZE_PART, "PART", "part", COLUMN_TEXT)                                             \
	COLUMN(SIZE_ROWS, "NUMBER", "number", COLUMN_NUMBER)                                       \
	COLUMN(SIZE_BYTES, "SIZE", "bytes", COLUMN_NUMBER)                                         \
	COLUMN(SIZE_PER_TIB, "PER TIB", "bytes_per_tib", COLUMN_NUMBER)

TABLE_COLUMNS(size_columns, SIZE_COLUMNS);

const TableKind table_of_store_size = { "parts", size_columns, G_N_ELEMENTS(size_columns),
					"dedupctl-store-size", 1 };

/* Scale @bytes of the store to 1 TiB of data. */
static void set_per_tib(Table *table, uint64_t bytes, uint64_t data_bytes)
{
	if (data_bytes > 0)
		table_set_size(table, SIZE_PER_TIB,
			       (uint64_t)((double)bytes / (double)data_bytes * (double)TIB));
}

static void add_row(Table *table, const StoreEntry *entry, const char *part)
{
	g_autofree char *mount_point = pass_mount_point(&entry->last_pass);

	table_add_row(table);
	table_set_text(table, SIZE_MOUNT, mount_point);
	table_set_escaped(table, SIZE_UUID, hash_store_about(entry->store)->uuid);
	table_set_text(table, SIZE_PART, part);
}

static void add_part(Table *table, const StoreEntry *entry, const StoreSize *size, StorePart part)
{
	add_row(table, entry, store_part_name(part));
	if (part != STORE_PART_FREE)
		table_set_count(table, SIZE_ROWS, size->rows[part]);
	if (!size->has_bytes)
		return;
	table_set_size(table, SIZE_BYTES, size->bytes[part]);
	set_per_tib(table, size->bytes[part], size->data_bytes);
}

static bool add_sizes(const StoreEntry *entry, void *data, GError **error)
{
	uint64_t file_bytes = hash_store_file_bytes(entry->store);
	Table *table = data;
	StoreSize size;

	if (!hash_store_size(entry->store, &size, error))
		return false;

	for (StorePart part = 0; part < N_STORE_PARTS; part++)
		add_part(table, entry, &size, part);
	add_row(table, entry, "wal");
	table_set_size(table, SIZE_BYTES, size.wal_bytes);
	add_row(table, entry, "all");
	table_set_size(table, SIZE_BYTES, file_bytes);
	set_per_tib(table, file_bytes, size.data_bytes);
	add_row(table, entry, "data");
	table_set_size(table, SIZE_BYTES, size.data_bytes);
	return true;
}

ExitStatus verb_store_size(const Options *options)
{
	g_autoptr(Table) table = table_new_asked(&table_of_store_size, options);
	ExitStatus status =
		store_list_each(options->state_directory, options->names, add_sizes, table);

	table_print(table);
	return status;
}

#define CHECK_COLUMNS(COLUMN)                                                                      \
	COLUMN(CHECK_MOUNT, "MOUNT", "mount_point", COLUMN_TEXT)                                   \
	COLUMN(CHECK_UUID, "UUID", "uuid", COLUMN_TEXT)                                            \
	COLUMN(CHECK_STATE, "STATE", "state", COLUMN_TEXT)                                         \
	COLUMN(CHECK_PROBLEMS, "PROBLEMS", "problems", COLUMN_LINES)

TABLE_COLUMNS(check_columns, CHECK_COLUMNS);

const TableKind table_of_store_check = { "stores", check_columns, G_N_ELEMENTS(check_columns),
					 "dedupctl-store-check", 1 };

typedef struct {
	Table *table;
	bool found_problems;
} Check;

static bool check_store(const StoreEntry *entry, void *data, GError **error)
{
	Check *check = data;
	g_autoptr(GPtrArray) problems = NULL;
	g_autofree char *mount_point = pass_mount_point(&entry->last_pass);

	if (!hash_store_check(entry->store, &problems, error))
		return false;

	/* SQLite's messages about a damaged file may contain any bytes. */
	g_autofree char *lines =
		message_join((const char *const *)problems->pdata, problems->len, "\n");
	table_add_row(check->table);
	table_set_text(check->table, CHECK_MOUNT, mount_point);
	table_set_escaped(check->table, CHECK_UUID, hash_store_about(entry->store)->uuid);
	table_set_text(check->table, CHECK_STATE, problems->len > 0 ? "damaged" : "ok");
	if (problems->len > 0)
		table_set_text(check->table, CHECK_PROBLEMS, lines);
	check->found_problems |= problems->len > 0;
	return true;
}

ExitStatus verb_store_check(const Options *options)
{
	g_autoptr(Table) table = table_new_asked(&table_of_store_check, options);
	Check check = { .table = table };
	ExitStatus status =
		store_list_each(options->state_directory, options->names, check_store, &check);

	table_print(table);
	if (check.found_problems)
		message_print("a damaged store costs reads, never data: "
			      "'dedupd --once --rebuild MOUNT' moves it aside and begins anew");
	return check.found_problems ? EXIT_STATUS_FAILED : status;
}

#define PRUNE_COLUMNS(COLUMN)                                                                      \
	COLUMN(PRUNE_MOUNT, "MOUNT", "mount_point", COLUMN_TEXT)                                   \
	COLUMN(PRUNE_UUID, NULL, "uuid", COLUMN_TEXT)                                              \
	COLUMN(PRUNE_FILES, "FILES", "files", COLUMN_NUMBER)                                       \
	COLUMN(PRUNE_PASSES, "PASSES", "passes", COLUMN_NUMBER)

TABLE_COLUMNS(prune_columns, PRUNE_COLUMNS);

const TableKind table_of_store_prune = { "stores", prune_columns, G_N_ELEMENTS(prune_columns),
					 "dedupctl-store-prune", 1 };

typedef struct {
	const Options *options;
	const MountTable *mounts;
	Table *table;
} Prune;

static bool drop_files(HashStore *store, const GArray *gone, GError **error)
{
	for (size_t i = 0; i < gone->len; i++) {
		const GoneFile *file = &g_array_index(gone, GoneFile, i);
		const Object *object;

		if (!hash_store_find_at(store, file->subvolume, file->inode, &object, error) ||
		    (object && !stand_note_drop(store, object, error)) ||
		    !hash_store_drop(store, file->subvolume, file->inode, error))
			return false;
	}
	return true;
}

/*
 * Open the store of @entry for reading and writing.  While a pass runs, it fails with HASH_STORE_ERROR_IN_USE,
 * and the pass is not disturbed.  A pass that begins while the store is open is refused the same way.
 */
static HashStore *open_to_change(const StoreEntry *entry, const char *directory, GError **error)
{
	const HashStoreAbout *about = hash_store_about(entry->store);
	const HashStoreOptions options = {
		.directory = directory,
		.uuid = about->uuid,
		.kind = about->kind,
		.block_bytes = about->block_bytes,
		.anchor_blocks = about->anchor_blocks,
		.window_anchors = about->window_anchors,
		.memory_bytes = MEMORY_BYTES,
	};

	return hash_store_open(&options, error);
}

static bool prune_store(const StoreEntry *entry, void *data, GError **error)
{
	const Prune *prune = data;
	g_autofree char *mount_point = pass_mount_point(&entry->last_pass);
	g_autofree char *uuid = message_text(hash_store_about(entry->store)->uuid);
	g_autoptr(HashStore) store = open_to_change(entry, prune->options->state_directory, error);
	g_autoptr(GArray) gone = NULL;
	g_auto(Fd) fd = mount_table_open_uuid(prune->mounts, hash_store_about(entry->store)->uuid);
	uint64_t n_passes = 0;

	if (!store || (fd >= 0 && !stale_files_find(store, fd, &gone, error)) ||
	    (gone && !drop_files(store, gone, error)))
		return false;
	if (prune->options->keep_usec > 0 &&
	    !hash_store_drop_passes_before(store,
					   g_get_real_time() - (int64_t)prune->options->keep_usec,
					   &n_passes, error))
		return false;
	if (!hash_store_commit(store, error))
		return false;

	table_add_row(prune->table);
	table_set_text(prune->table, PRUNE_MOUNT, mount_point);
	table_set_text(prune->table, PRUNE_UUID, uuid);
	if (gone)
		table_set_count(prune->table, PRUNE_FILES, gone->len);
	else
		message_print("%s is not mounted, so dedupctl did not look for its files", uuid);
	table_set_count(prune->table, PRUNE_PASSES, n_passes);
	return true;
}

ExitStatus verb_store_prune(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(MountTable) mounts = mount_table_read(NULL, NULL, NULL, &error);
	g_autoptr(Table) table = table_new_asked(&table_of_store_prune, options);
	Prune prune = { options, mounts, table };

	if (!mounts)
		return message_fail_error(error);

	ExitStatus status =
		store_list_each(options->state_directory, options->names, prune_store, &prune);
	table_print(table);
	return status;
}

#define VACUUM_COLUMNS(COLUMN)                                                                     \
	COLUMN(VACUUM_MOUNT, "MOUNT", "mount_point", COLUMN_TEXT)                                  \
	COLUMN(VACUUM_UUID, NULL, "uuid", COLUMN_TEXT)                                             \
	COLUMN(VACUUM_BEFORE, "BEFORE", "before_bytes", COLUMN_NUMBER)                             \
	COLUMN(VACUUM_AFTER, "AFTER", "after_bytes", COLUMN_NUMBER)

TABLE_COLUMNS(vacuum_columns, VACUUM_COLUMNS);

const TableKind table_of_store_vacuum = { "stores", vacuum_columns, G_N_ELEMENTS(vacuum_columns),
					  "dedupctl-store-vacuum", 1 };

typedef struct {
	Table *table;
	const char *directory;
} Vacuum;

static bool has_room(HashStore *store, const char *directory, GError **error)
{
	struct statvfs st;
	uint64_t needed_bytes;

	if (!hash_store_vacuum_needs(store, &needed_bytes, error))
		return false;
	if (statvfs(directory, &st) != 0) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED,
			    "cannot read the free space of %s: %s", directory, g_strerror(errno));
		return false;
	}
	if ((uint64_t)st.f_bavail * st.f_frsize >= needed_bytes)
		return true;

	g_autofree char *needed = size_text(needed_bytes);
	g_autofree char *left = size_text((uint64_t)st.f_bavail * st.f_frsize);
	g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FULL,
		    "the store %s needs %s to be written anew, and %s has %s",
		    hash_store_path(store), needed, directory, left);
	return false;
}

static bool vacuum_store(const StoreEntry *entry, void *data, GError **error)
{
	const Vacuum *vacuum = data;
	uint64_t before_bytes = hash_store_file_bytes(entry->store);
	g_autofree char *mount_point = pass_mount_point(&entry->last_pass);
	g_autoptr(HashStore) store = open_to_change(entry, vacuum->directory, error);

	if (!store || !has_room(store, vacuum->directory, error) ||
	    !hash_store_vacuum(store, error))
		return false;

	table_add_row(vacuum->table);
	table_set_text(vacuum->table, VACUUM_MOUNT, mount_point);
	table_set_escaped(vacuum->table, VACUUM_UUID, hash_store_about(entry->store)->uuid);
	table_set_size(vacuum->table, VACUUM_BEFORE, before_bytes);
	table_set_size(vacuum->table, VACUUM_AFTER, hash_store_file_bytes(store));
	return true;
}

ExitStatus verb_store_vacuum(const Options *options)
{
	g_autoptr(Table) table = table_new_asked(&table_of_store_vacuum, options);
	Vacuum vacuum = { table, options->state_directory };

	/* The directory that lacks space for it. */
	g_setenv("SQLITE_TMPDIR", options->state_directory, true);
	ExitStatus status =
		store_list_each(options->state_directory, options->names, vacuum_store, &vacuum);

	table_print(table);
	return status;
}
