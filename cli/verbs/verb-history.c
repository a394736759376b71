/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/store-list.h"
#include "cli/client/daemon-client.h"
#include "cli/stores/history-plot.h"
#include "cli/terminal/message.h"
#include "cli/terminal/pass-text.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#define HISTORY_COLUMNS(COLUMN)                                                                    \
	COLUMN(HISTORY_MOUNT, "MOUNT", "mount_point", COLUMN_TEXT)                                 \
	COLUMN(HISTORY_UUID, NULL, "uuid", COLUMN_TEXT)                                            \
	COLUMN(HISTORY_STARTED, "WHEN", "started", COLUMN_TEXT)                                    \
	COLUMN(HISTORY_TOOK, "TOOK", "seconds", COLUMN_NUMBER)                                     \
	COLUMN(HISTORY_OUTCOME, "OUTCOME", "outcome", COLUMN_TEXT)                                 \
	COLUMN(HISTORY_FILES, "FILES", "files", COLUMN_NUMBER)                                     \
	COLUMN(HISTORY_EXTENTS, "EXTENTS", "extents", COLUMN_NUMBER)                               \
	COLUMN(HISTORY_OBJECTS_READ, NULL, "objects_read", COLUMN_NUMBER)                          \
	COLUMN(HISTORY_FINDING, "READ", "finding_bytes", COLUMN_NUMBER)                            \
	COLUMN(HISTORY_COMPARED, "COMPARED", "compare_bytes", COLUMN_NUMBER)                       \
	COLUMN(HISTORY_SHARED, "SHARED", "shared_bytes", COLUMN_NUMBER)                            \
	COLUMN(HISTORY_FREED, "FREED", "freed_bytes", COLUMN_NUMBER)                               \
	COLUMN(HISTORY_NET, "NET", "net_bytes", COLUMN_NUMBER)                                     \
	COLUMN(HISTORY_HOLES, NULL, "hole_bytes", COLUMN_NUMBER)                                   \
	COLUMN(HISTORY_RUNS_SHARED, NULL, "runs_shared", COLUMN_NUMBER)                            \
	COLUMN(HISTORY_RUNS_DIFFERED, NULL, "runs_differed", COLUMN_NUMBER)                        \
	COLUMN(HISTORY_CAPPED, NULL, "capped", COLUMN_NUMBER)                                      \
	COLUMN(HISTORY_PINNED, NULL, "pinned_bytes", COLUMN_NUMBER)                                \
	COLUMN(HISTORY_REWRITTEN, NULL, "rewritten_bytes", COLUMN_NUMBER)                          \
	COLUMN(HISTORY_METADATA, NULL, "metadata_delta_bytes", COLUMN_NUMBER)                      \
	COLUMN(HISTORY_DRIFT, NULL, "drift_bytes", COLUMN_NUMBER)                                  \
	COLUMN(HISTORY_DEFERRED, "DEFERRED", "deferred_bytes", COLUMN_NUMBER)                      \
	COLUMN(HISTORY_RELEASED, NULL, "released_bytes", COLUMN_NUMBER)                            \
	COLUMN(HISTORY_DEFERRED_WRITTEN, "COPIED", "deferred_written_bytes", COLUMN_NUMBER)        \
	COLUMN(HISTORY_USED, NULL, "used_bytes", COLUMN_NUMBER)

TABLE_COLUMNS(history_columns, HISTORY_COLUMNS);

const TableKind table_of_history = { "passes", history_columns, G_N_ELEMENTS(history_columns),
				     "dedupctl-history", 1 };

static void add_pass(Table *table, const HashStoreAbout *about, const PassRecord *pass)
{
	g_autofree char *mount_point = pass_mount_point(pass);

	table_add_row(table);
	table_set_text(table, HISTORY_MOUNT, mount_point);
	table_set_escaped(table, HISTORY_UUID, about->uuid);
	table_set_time(table, HISTORY_STARTED, pass->started_usec);
	table_set_duration(table, HISTORY_TOOK, pass->ended_usec - pass->started_usec);
	table_set_text(table, HISTORY_OUTCOME, pass_outcome_name(pass->outcome));
	table_set_count(table, pass->has_extents ? HISTORY_EXTENTS : HISTORY_FILES, pass->files);
	table_set_count(table, HISTORY_OBJECTS_READ, pass->objects_read);
	table_set_size(table, HISTORY_FINDING, pass->finding_bytes);
	table_set_size(table, HISTORY_COMPARED, pass->compare_bytes);
	table_set_size(table, HISTORY_SHARED, pass->shared_bytes);
	table_set_size(table, HISTORY_FREED, pass->freed_bytes);
	if (pass->has_net)
		table_set_difference(table, HISTORY_NET, pass->net_bytes);
	table_set_size(table, HISTORY_HOLES, pass->hole_bytes);
	table_set_count(table, HISTORY_RUNS_SHARED, pass->runs_shared);
	table_set_count(table, HISTORY_RUNS_DIFFERED, pass->runs_differed);
	table_set_count(table, HISTORY_CAPPED, pass->capped);
	table_set_size(table, HISTORY_PINNED, pass->pinned_bytes);
	table_set_size(table, HISTORY_REWRITTEN, pass->rewritten_bytes);
	table_set_difference(table, HISTORY_METADATA, pass->metadata_delta_bytes);
	table_set_size(table, HISTORY_DEFERRED, pass->deferred_bytes);
	table_set_size(table, HISTORY_RELEASED, pass->released_bytes);
	table_set_size(table, HISTORY_DEFERRED_WRITTEN, pass->deferred_written_bytes);
	if (pass->used_bytes > 0)
		table_set_size(table, HISTORY_USED, pass->used_bytes);
	if (pass->is_checked)
		table_set_difference(table, HISTORY_DRIFT, pass->drift_bytes);
}

/* Columns with a value in any pass.  Text omits other columns. */
typedef struct {
	bool files, extents, net, deferred;
} Shown;

/* Add the passes of @store. */
static bool add_passes(Table *table, HashStore *store, Shown *shown, GError **error)
{
	g_autoptr(PassCursor) cursor = pass_cursor_open(store, error);
	const PassRecord *pass;

	if (!cursor)
		return false;

	while (true) {
		if (!pass_cursor_next(cursor, &pass, error))
			return false;
		if (!pass)
			return true;
		add_pass(table, hash_store_about(store), pass);
		shown->files |= !pass->has_extents;
		shown->extents |= pass->has_extents;
		shown->net |= pass->has_net;
		shown->deferred |= pass->deferred_bytes > 0;
	}
}

/* Add a pass as the service tells it: with the keys of the columns, but its times in microseconds. */
static void add_served_pass(Table *table, const char *uuid, const json_t *pass, Shown *shown)
{
	int64_t started_usec = json_integer_value(json_object_get(pass, "started_usec"));
	int64_t ended_usec = json_integer_value(json_object_get(pass, "ended_usec"));

	table_add_row(table);
	table_set_text(table, HISTORY_UUID, uuid);
	table_set_time(table, HISTORY_STARTED, started_usec);
	table_set_duration(table, HISTORY_TOOK, ended_usec - started_usec);
	for (size_t i = 0; i < G_N_ELEMENTS(history_columns); i++) {
		const char *key = history_columns[i].key;
		const json_t *value = json_object_get(pass, key);

		if (json_is_integer(value) && g_str_has_suffix(key, "_bytes"))
			table_set_difference(table, i, json_integer_value(value));
		else if (json_is_integer(value))
			table_set_count(table, i, (uint64_t)json_integer_value(value));
		else if (json_is_string(value))
			table_set_text(table, i, json_string_value(value));
	}
	shown->files |= json_is_integer(json_object_get(pass, "files"));
	shown->extents |= json_is_integer(json_object_get(pass, "extents"));
	shown->net |= json_is_integer(json_object_get(pass, "net_bytes"));
	shown->deferred |= json_integer_value(json_object_get(pass, "deferred_bytes")) > 0;
}

static bool add_served_passes(Table *table, DaemonClient *client, const char *uuid, Shown *shown,
			      GError **error)
{
	g_autofree char *text = daemon_client_text(client, uuid, "GetHistory", error);
	g_auto(GStrv) lines = text ? g_strsplit(text, "\n", -1) : NULL;

	for (char **line = lines; line && *line; line++) {
		json_t *pass = json_loads(*line, 0, NULL);

		if (pass)
			add_served_pass(table, uuid, pass, shown);
		json_decref(pass);
	}
	return lines;
}

static void hide_empty(Table *table, const Shown *shown, const Options *options)
{
	const struct {
		bool is_shown;
		size_t column;
	} columns[] = {
		{ shown->files || !shown->extents, HISTORY_FILES },
		{ shown->extents, HISTORY_EXTENTS },
		{ shown->net, HISTORY_NET },
		{ shown->deferred, HISTORY_DEFERRED },
		{ shown->deferred, HISTORY_DEFERRED_WRITTEN },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(columns) && !options_are_for_programs(options); i++)
		if (!columns[i].is_shown)
			table_hide(table, columns[i].column);
}

/* Print what the service tells users who have no stores of their own.  Returns false if it tells nothing. */
static bool print_served(Table *table, const Options *options, ExitStatus *ret)
{
	g_autoptr(DaemonClient) client = daemon_client_connect(NULL);
	g_autoptr(GPtrArray) all = client ? daemon_client_list(client, NULL) : NULL;
	bool is_told = false;
	Shown shown = { 0 };

	*ret = EXIT_STATUS_DONE;
	for (guint i = 0; all && i < all->len; i++) {
		const DaemonFilesystem *live = all->pdata[i];
		g_autoptr(GError) error = NULL;

		if (live->state_directory[0] == '\0' ||
		    (options->names && !daemon_filesystem_is_any(live, options->names, NULL)))
			continue;
		is_told = true;
		if (add_served_passes(table, client, live->uuid, &shown, &error))
			continue;
		message_print_error(error);
		*ret = EXIT_STATUS_FAILED;
	}
	if (!is_told)
		return false;

	message_print("the passes come from the service: only root may read its stores");
	hide_empty(table, &shown, options);
	table_print(table);
	return true;
}

/* Print one plot below the other, and report read errors. */
static ExitStatus print_plots(StoreList *list, const Options *options)
{
	const StoreEntry *entry;
	bool is_first = true;

	while ((entry = store_list_next(list))) {
		GError *cause = NULL;

		if (!is_first)
			printf("\n");
		is_first = false;
		if (!history_plot_print(entry, options->bytes, &cause))
			store_list_failed_take(list, cause);
	}
	if (store_list_count(list) == 0 && !options->names)
		store_list_say_none(list);

	return store_list_finish(list) ? EXIT_STATUS_DONE : EXIT_STATUS_FAILED;
}

ExitStatus verb_history(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(StoreList) list =
		store_list_open(options->state_directory, options->names, &error);
	g_autoptr(Table) table = table_new_asked(&table_of_history, options);
	const StoreEntry *entry;
	ExitStatus status;
	Shown shown = { 0 };

	if (options->plot && options_are_for_programs(options))
		return message_fail(
			EXIT_STATUS_USAGE,
			"history: --plot draws for people, and takes none of --json, --output, "
			"--raw and --noheadings");
	if (list && options->plot)
		return print_plots(list, options);

	while (list && (entry = store_list_next(list))) {
		GError *cause = NULL;

		if (!add_passes(table, entry->store, &shown, &cause))
			store_list_failed_take(list, cause);
	}

	if (geteuid() != 0 && !options->state_directory_is_given && !options->plot &&
	    (!list || store_list_count(list) == 0) && print_served(table, options, &status))
		return status;
	if (!list)
		return message_fail(EXIT_STATUS_FAILED, "cannot read the stores: %s",
				    error->message);

	hide_empty(table, &shown, options);
	if (!options->json && store_list_count(list) == 0 && !options->names)
		store_list_say_none(list);
	else
		table_print(table);

	return store_list_finish(list) ? EXIT_STATUS_DONE : EXIT_STATUS_FAILED;
}
