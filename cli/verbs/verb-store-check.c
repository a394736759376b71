/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/store-list.h"
#include "cli/terminal/message.h"
#include "cli/terminal/pass-text.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "hashstore/store-check.h"

enum {
	CHECK_MOUNT,
	CHECK_UUID,
	CHECK_STATE,
	CHECK_PROBLEMS,
};

static const TableColumn columns[] = {
	[CHECK_MOUNT] = { "MOUNT", "mount_point", COLUMN_TEXT },
	[CHECK_UUID] = { "UUID", "uuid", COLUMN_TEXT },
	[CHECK_STATE] = { "STATE", "state", COLUMN_TEXT },
	[CHECK_PROBLEMS] = { "PROBLEMS", "problems", COLUMN_LINES },
};

const TableKind table_of_store_check = { "stores", columns, G_N_ELEMENTS(columns),
					 "dedupctl-store-check", 1 };

typedef struct {
	Table *table;
	bool found_problems;
} Check;

/* A line each; what SQLite says of a damaged file may hold any bytes. */
static char *lines_of(const GPtrArray *problems)
{
	GString *lines = g_string_new(NULL);

	for (size_t i = 0; i < problems->len; i++) {
		g_autofree char *text = message_text(problems->pdata[i]);

		g_string_append_printf(lines, "%s%s", i > 0 ? "\n" : "", text);
	}
	return g_string_free(lines, FALSE);
}

static bool check_store(const StoreEntry *entry, void *data, GError **error)
{
	Check *check = data;
	g_autoptr(GPtrArray) problems = NULL;
	g_autofree char *mount_point = pass_mount_point(&entry->last_pass);
	g_autofree char *uuid = message_text(hash_store_about(entry->store)->uuid);

	if (!hash_store_check(entry->store, &problems, error))
		return false;

	g_autofree char *lines = lines_of(problems);
	table_add_row(check->table);
	table_set_text(check->table, CHECK_MOUNT, mount_point);
	table_set_text(check->table, CHECK_UUID, uuid);
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
