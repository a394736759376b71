/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/disk-limits.h"
#include "cli/client/filesystem-status.h"
#include "cli/client/hold-table.h"
#include "cli/client/stage-pace.h"
#include "cli/client/status-block.h"
#include "cli/client/status-list.h"
#include "cli/client/status-watch.h"
#include "cli/terminal/message.h"
#include "cli/verbs/verb.h"

#include <stdio.h>
#include <string.h>

#define STATUS_COLUMNS(COLUMN)                                                                     \
	COLUMN(STATUS_MOUNT, "MOUNT", "mount_point", COLUMN_TEXT)                                  \
	COLUMN(STATUS_KIND, "KIND", "kind", COLUMN_TEXT)                                           \
	COLUMN(STATUS_STATE, "STATE", "state", COLUMN_TEXT)                                        \
	COLUMN(STATUS_WHY, "NOW", "why", COLUMN_TEXT_CUT)                                          \
	COLUMN(STATUS_RATE, "RATE", "stage_rate_bytes", COLUMN_NUMBER)                             \
	COLUMN(STATUS_LEFT, "LEFT", "stage_left_seconds", COLUMN_NUMBER)                           \
	COLUMN(STATUS_NEXT, "NEXT PASS", "next_pass", COLUMN_TEXT)                                 \
	COLUMN(STATUS_STARTED, "LAST PASS", "last_pass", COLUMN_TEXT)                              \
	COLUMN(STATUS_OUTCOME, "OUTCOME", "outcome", COLUMN_TEXT)                                  \
	COLUMN(STATUS_FREED, "FREED", "freed_bytes", COLUMN_NUMBER)                                \
	COLUMN(STATUS_NET, NULL, "net_bytes", COLUMN_NUMBER)                                       \
	COLUMN(STATUS_FREED_TOTAL, "IN ALL", "freed_total_bytes", COLUMN_NUMBER)                   \
	COLUMN(STATUS_PINNED_EXTENTS, NULL, "pinned_extents", COLUMN_NUMBER)                       \
	COLUMN(STATUS_PINNED, NULL, "pinned_bytes", COLUMN_NUMBER)                                 \
	COLUMN(STATUS_DEFERRED, NULL, "deferred_bytes", COLUMN_NUMBER)                             \
	COLUMN(STATUS_HOLDERS, NULL, "deferred_snapshots", COLUMN_NUMBER)                          \
	COLUMN(STATUS_LAST_HOLDER, NULL, "deferred_last_snapshot", COLUMN_TEXT)                    \
	COLUMN(STATUS_LAST_HOLDER_ID, NULL, "deferred_last_id", COLUMN_NUMBER)                     \
	COLUMN(STATUS_TROUBLE, "TROUBLE", "trouble", COLUMN_TEXT_CUT)                              \
	COLUMN(STATUS_PASSES, NULL, "passes", COLUMN_NUMBER)                                       \
	COLUMN(STATUS_OBJECTS, "OBJECTS", "objects", COLUMN_NUMBER)                                \
	COLUMN(STATUS_STORE_BYTES, "STORE", "store_bytes", COLUMN_NUMBER)                          \
	COLUMN(STATUS_ANCHOR_BLOCKS, NULL, "anchor_blocks", COLUMN_NUMBER)                         \
	COLUMN(STATUS_WINDOW, NULL, "window", COLUMN_NUMBER)                                       \
	COLUMN(STATUS_UUID, "UUID", "uuid", COLUMN_TEXT_CUT)                                       \
	COLUMN(STATUS_STORE_PATH, NULL, "store_path", COLUMN_TEXT)                                 \
	COLUMN(STATUS_WAIT_REASON, NULL, "wait_reason", COLUMN_TEXT)                               \
	COLUMN(STATUS_STAGE, NULL, "stage", COLUMN_TEXT)                                           \
	COLUMN(STATUS_STAGE_FILES, NULL, "stage_files", COLUMN_NUMBER)                             \
	COLUMN(STATUS_STAGE_BYTES, NULL, "stage_bytes", COLUMN_NUMBER)                             \
	COLUMN(STATUS_STAGE_TOTAL_BYTES, NULL, "stage_total_bytes", COLUMN_NUMBER)                 \
	COLUMN(STATUS_PASS_STARTED, NULL, "pass_started", COLUMN_TEXT)                             \
	COLUMN(STATUS_DEADLINE, NULL, "deadline", COLUMN_TEXT)                                     \
	COLUMN(STATUS_PASS_FREED, NULL, "pass_freed_bytes", COLUMN_NUMBER)                         \
	COLUMN(STATUS_RUN_PASSES, NULL, "service_passes", COLUMN_NUMBER)                           \
	COLUMN(STATUS_RUN_FREED, NULL, "service_freed_bytes", COLUMN_NUMBER)                       \
	COLUMN(STATUS_DISKS, NULL, "disks", COLUMN_TABLE)                                          \
	COLUMN(STATUS_HOLDS, NULL, "holds", COLUMN_TABLE)                                          \
	COLUMN(STATUS_SKIPPED, NULL, "skipped", COLUMN_TABLE)

TABLE_COLUMNS(status_columns, STATUS_COLUMNS);

const TableKind table_of_status = { "filesystems", status_columns, G_N_ELEMENTS(status_columns),
				    "dedupctl-status", 1 };

/* The default columns in text, with the service and without. */
static const uint8_t of_service[] = { STATUS_STATE, STATUS_WHY,  STATUS_RATE,
				      STATUS_LEFT,  STATUS_NEXT, STATUS_TROUBLE };
static const uint8_t of_stores[] = { STATUS_KIND, STATUS_OUTCOME, STATUS_OBJECTS,
				     STATUS_STORE_BYTES, STATUS_UUID };

static void set_pass(Table *table, const DaemonFilesystem *live)
{
	StagePace pace = stage_pace(live, g_get_real_time());

	table_set_text(table, STATUS_STAGE, live->stage);
	table_set_count(table, STATUS_STAGE_FILES, live->stage_files);
	table_set_size(table, STATUS_STAGE_BYTES, live->stage_bytes);
	if (live->stage_total_bytes > 0)
		table_set_size(table, STATUS_STAGE_TOTAL_BYTES, live->stage_total_bytes);
	table_set_time(table, STATUS_PASS_STARTED, (int64_t)live->pass_started_usec);
	table_set_size(table, STATUS_PASS_FREED, live->pass_freed_bytes);
	if (live->deadline_usec > 0)
		table_set_time(table, STATUS_DEADLINE, (int64_t)live->deadline_usec);
	if (pace.has_rate)
		table_set_size(table, STATUS_RATE, pace.rate_bytes);
	if (pace.has_left)
		table_set_duration(table, STATUS_LEFT, pace.left_usec);
}

/* In text, a dash means that there is nothing to know. */
static void set_dashes(Table *table, const Options *options)
{
	if (options->json)
		return;
	table_set_text(table, STATUS_RATE, "-");
	table_set_text(table, STATUS_LEFT, "-");
	table_set_text(table, STATUS_NEXT, "-");
	table_set_text(table, STATUS_TROUBLE, "-");
}

static void set_live(Table *table, const StatusList *list, const FilesystemStatus *status,
		     const Options *options)
{
	const DaemonFilesystem *live = status->live;
	g_autoptr(GPtrArray) limits = disk_limits_named(list->disks, live->disks);
	g_autoptr(Table) disks = disk_limits_table(limits, options);
	g_autoptr(Table) holds = hold_table(live->holds, options);
	g_autofree char *why = filesystem_why_text(live);
	int64_t next_usec = filesystem_status_next_usec(status);

	set_dashes(table, options);
	table_set_text(table, STATUS_STATE, live->state);
	table_set_text(table, STATUS_WHY, why[0] != '\0' ? why : NULL);
	if (live->wait_reason[0] != '\0')
		table_set_text(table, STATUS_WAIT_REASON, live->wait_reason);
	table_set_count(table, STATUS_RUN_PASSES, live->passes);
	table_set_size(table, STATUS_RUN_FREED, live->freed_bytes);
	table_set_table(table, STATUS_DISKS, disks);
	table_set_table(table, STATUS_HOLDS, holds);
	if (next_usec > 0)
		table_set_time(table, STATUS_NEXT, next_usec);
	if (filesystem_status_is_running(status))
		set_pass(table, live);
}

static void set_store(Table *table, const FilesystemStatus *status)
{
	table_set_escaped(table, STATUS_STORE_PATH, status->store_path);
	table_set_size(table, STATUS_STORE_BYTES, status->store_bytes);
	table_set_count(table, STATUS_ANCHOR_BLOCKS, status->anchor_blocks);
	table_set_count(table, STATUS_WINDOW, status->window_anchors);
	table_set_count(table, STATUS_OBJECTS, status->n_objects);
	table_set_count(table, STATUS_PASSES, status->totals.passes);
	table_set_size(table, STATUS_FREED_TOTAL, status->totals.freed_bytes);
	table_set_count(table, STATUS_PINNED_EXTENTS, status->pinned.extents);
	table_set_size(table, STATUS_PINNED, status->pinned.bytes);
	table_set_size(table, STATUS_DEFERRED, status->deferred.bytes);
	table_set_count(table, STATUS_HOLDERS, status->holders.n);
	if (status->holders.last_path)
		table_set_escaped(table, STATUS_LAST_HOLDER, status->holders.last_path);
	if (status->holders.last > 0)
		table_set_count(table, STATUS_LAST_HOLDER_ID, status->holders.last);
	table_set_table(table, STATUS_SKIPPED, status->skipped);
}

static void add_status(Table *table, const StatusList *list, const FilesystemStatus *status,
		       const Options *options)
{
	g_autofree char *trouble = filesystem_status_trouble(status);

	table_add_row(table);
	table_set_escaped(table, STATUS_KIND, status->kind);
	table_set_escaped(table, STATUS_UUID, status->uuid);
	if (status->mount_point)
		table_set_escaped(table, STATUS_MOUNT, status->mount_point);
	if (status->live)
		set_live(table, list, status, options);
	table_set_text(table, STATUS_TROUBLE, trouble);
	if (status->has_store)
		set_store(table, status);
	if (!status->has_last)
		return;

	table_set_time(table, STATUS_STARTED, status->last_started_usec);
	table_set_text(table, STATUS_OUTCOME, status->last_outcome);
	table_set_size(table, STATUS_FREED, status->last_freed_bytes);
	if (status->has_last_net)
		table_set_difference(table, STATUS_NET, status->last_net_bytes);
}

/* Print the skipped files, below the filesystems. */
static void print_left_alone(const FilesystemStatus *status)
{
	g_autofree char *text = message_terminal_text(status->mount_point);

	if (!status->has_store || !status->has_stored_pass)
		return;
	if (table_count_rows(status->skipped) == 0) {
		printf("\nThe last pass over %s skipped nothing.\n", text);
		return;
	}
	printf("\nThe last pass over %s skipped:\n", text);
	table_print(status->skipped);
}

static void print_table(const StatusList *list, const Options *options)
{
	const uint8_t *hidden = list->has_service ? of_stores : of_service;
	size_t n_hidden = list->has_service ? G_N_ELEMENTS(of_stores) : G_N_ELEMENTS(of_service);
	g_autoptr(Table) table = table_new_hiding(&table_of_status, options, hidden, n_hidden);

	for (guint i = 0; i < list->all->len; i++)
		add_status(table, list, list->all->pdata[i], options);
	table_print(table);
}

/* Print the table, and what was skipped. */
static void print_all(const StatusList *list, const Options *options)
{
	print_table(list, options);
	if (options_are_for_programs(options) || (list->all->len != 1 && !options->verbose))
		return;
	for (guint i = 0; i < list->all->len; i++)
		print_left_alone(list->all->pdata[i]);
}

static void print_blocks(const StatusList *list, const Options *options)
{
	for (guint i = 0; i < list->all->len; i++) {
		if (i > 0)
			putchar('\n');
		status_block_print(list, list->all->pdata[i], options->bytes);
		if (list->all->len == 1 || options->verbose)
			print_left_alone(list->all->pdata[i]);
	}
}

/* --watch shows a page of its own. */
static ExitStatus watch(const Options *options)
{
	if (!options_are_for_programs(options))
		return status_watch_run(options);

	return message_fail(
		EXIT_STATUS_USAGE,
		"--watch prints no table and no JSON: 'dedupctl status --json' does, once");
}

/* Without the service, text has no column of troubles. */
static bool shows_trouble(const StatusList *list, const Options *options)
{
	return list->all->len > 0 &&
	       (list->has_service || options->names || options_are_for_programs(options));
}

static ExitStatus show(const Options *options)
{
	g_autoptr(StatusList) list = status_list_read(options);

	if (options->names && !options_are_for_programs(options))
		print_blocks(list, options);
	else if (list->all->len > 0 || options_are_for_programs(options) || list->n_stores > 0)
		print_all(list, options);
	else if (list->has_service)
		puts("The service deduplicates no filesystem: 'dedupctl list' shows the mounted "
		     "ones, and 'dedupctl enable' enables one.");
	else if (list->status == EXIT_STATUS_DONE)
		store_list_say_none_in(options->state_directory);
	if (list->config_is_wrong && !shows_trouble(list, options))
		message_print("the configuration is wrong: 'dedupctl config --check' says where");

	return list->status;
}

ExitStatus verb_status(const Options *options)
{
	return options->watch ? watch(options) : show(options);
}
