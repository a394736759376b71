/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/store-list.h"
#include "cli/terminal/message.h"
#include "cli/terminal/pass-text.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "hashstore/store-size.h"

#define TIB (UINT64_C(1) << 40)

enum {
	SIZE_MOUNT,
	SIZE_UUID,
	SIZE_PART,
	SIZE_ROWS,
	SIZE_BYTES,
	SIZE_PER_TIB,
};

static const TableColumn columns[] = {
	[SIZE_MOUNT] = { "MOUNT", "mount_point", COLUMN_TEXT },
	[SIZE_UUID] = { NULL, "uuid", COLUMN_TEXT },
	[SIZE_PART] = { "PART", "part", COLUMN_TEXT },
	[SIZE_ROWS] = { "NUMBER", "number", COLUMN_NUMBER },
	[SIZE_BYTES] = { "SIZE", "bytes", COLUMN_NUMBER },
	[SIZE_PER_TIB] = { "PER TIB", "bytes_per_tib", COLUMN_NUMBER },
};

const TableKind table_of_store_size = { "parts", columns, G_N_ELEMENTS(columns),
					"dedupctl-store-size", 1 };

/* What @bytes of the store would be for 1 TiB of data. */
static void set_per_tib(Table *table, uint64_t bytes, uint64_t data_bytes)
{
	if (data_bytes > 0)
		table_set_size(table, SIZE_PER_TIB,
			       (uint64_t)((double)bytes / (double)data_bytes * (double)TIB));
}

static void add_row(Table *table, const StoreEntry *entry, const char *part)
{
	g_autofree char *mount_point = pass_mount_point(&entry->last_pass);
	g_autofree char *uuid = message_text(hash_store_about(entry->store)->uuid);

	table_add_row(table);
	table_set_text(table, SIZE_MOUNT, mount_point);
	table_set_text(table, SIZE_UUID, uuid);
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

static bool add_store(const StoreEntry *entry, void *data, GError **error)
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
		store_list_each(options->state_directory, options->names, add_store, table);

	table_print(table);
	return status;
}
