/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/gone-files.h"
#include "cli/stores/store-change.h"
#include "cli/terminal/message.h"
#include "cli/terminal/pass-text.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "kernel-ioctl/call/fd.h"

enum {
	PRUNE_MOUNT,
	PRUNE_UUID,
	PRUNE_FILES,
	PRUNE_PASSES,
};

static const TableColumn columns[] = {
	[PRUNE_MOUNT] = { "MOUNT", "mount_point", COLUMN_TEXT },
	[PRUNE_UUID] = { NULL, "uuid", COLUMN_TEXT },
	[PRUNE_FILES] = { "FILES", "files", COLUMN_NUMBER },
	[PRUNE_PASSES] = { "PASSES", "passes", COLUMN_NUMBER },
};

const TableKind table_of_store_prune = { "stores", columns, G_N_ELEMENTS(columns),
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

		if (!hash_store_drop(store, file->subvolume, file->inode, error))
			return false;
	}
	return true;
}

static bool prune_store(const StoreEntry *entry, void *data, GError **error)
{
	const Prune *prune = data;
	g_autofree char *mount_point = pass_mount_point(&entry->last_pass);
	g_autofree char *uuid = message_text(hash_store_about(entry->store)->uuid);
	g_autoptr(HashStore) store =
		store_change_open(entry, prune->options->state_directory, error);
	g_autoptr(GArray) gone = NULL;
	g_auto(Fd) fd = mount_table_open_uuid(prune->mounts, hash_store_about(entry->store)->uuid);
	uint64_t n_passes = 0;

	if (!store || (fd >= 0 && !gone_files_find(store, fd, &gone, error)) ||
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
		message_print("%s is not mounted, so its files were not looked for", uuid);
	table_set_count(prune->table, PRUNE_PASSES, n_passes);
	return true;
}

ExitStatus verb_store_prune(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(MountTable) mounts = mount_table_read(NULL, NULL, NULL, &error);
	g_autoptr(Table) table = table_new_asked(&table_of_store_prune, options);
	Prune prune = { options, mounts, table };

	if (!mounts) {
		message_print_error(error);
		return EXIT_STATUS_FAILED;
	}

	ExitStatus status =
		store_list_each(options->state_directory, options->names, prune_store, &prune);
	table_print(table);
	return status;
}
