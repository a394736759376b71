/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/store-change.h"
#include "cli/terminal/message.h"
#include "cli/terminal/pass-text.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "common/text/size-text.h"
#include "hashstore/store-vacuum.h"

#include <errno.h>
#include <sys/statvfs.h>

enum {
	VACUUM_MOUNT,
	VACUUM_UUID,
	VACUUM_BEFORE,
	VACUUM_AFTER,
};

static const TableColumn columns[] = {
	[VACUUM_MOUNT] = { "MOUNT", "mount_point", COLUMN_TEXT },
	[VACUUM_UUID] = { NULL, "uuid", COLUMN_TEXT },
	[VACUUM_BEFORE] = { "BEFORE", "before_bytes", COLUMN_NUMBER },
	[VACUUM_AFTER] = { "AFTER", "after_bytes", COLUMN_NUMBER },
};

const TableKind table_of_store_vacuum = { "stores", columns, G_N_ELEMENTS(columns),
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
			    "cannot tell the room in %s: %s", directory, g_strerror(errno));
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
	g_autofree char *uuid = message_text(hash_store_about(entry->store)->uuid);
	g_autoptr(HashStore) store = store_change_open(entry, vacuum->directory, error);

	if (!store || !has_room(store, vacuum->directory, error) ||
	    !hash_store_vacuum(store, error))
		return false;

	table_add_row(vacuum->table);
	table_set_text(vacuum->table, VACUUM_MOUNT, mount_point);
	table_set_text(vacuum->table, VACUUM_UUID, uuid);
	table_set_size(vacuum->table, VACUUM_BEFORE, before_bytes);
	table_set_size(vacuum->table, VACUUM_AFTER, hash_store_file_bytes(store));
	return true;
}

ExitStatus verb_store_vacuum(const Options *options)
{
	g_autoptr(Table) table = table_new_asked(&table_of_store_vacuum, options);
	Vacuum vacuum = { table, options->state_directory };

	/* Where the room for it was looked for. */
	g_setenv("SQLITE_TMPDIR", options->state_directory, true);
	ExitStatus status =
		store_list_each(options->state_directory, options->names, vacuum_store, &vacuum);

	table_print(table);
	return status;
}
