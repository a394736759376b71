/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/message.h"
#include "cli/pass-text.h"
#include "cli/store-list.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "daemon/name-text.h"
#include "hashstore/objects.h"

#include <stdio.h>
#include <string.h>

enum {
	STATUS_MOUNT,
	STATUS_KIND,
	STATUS_STARTED,
	STATUS_OUTCOME,
	STATUS_FREED,
	STATUS_FREED_TOTAL,
	STATUS_PASSES,
	STATUS_OBJECTS,
	STATUS_STORE_BYTES,
	STATUS_ANCHOR_BLOCKS,
	STATUS_WINDOW,
	STATUS_UUID,
	STATUS_STORE_PATH,
	STATUS_SKIPPED,
};

static const TableColumn status_columns[] = {
	[STATUS_MOUNT] = { "MOUNT", "mount_point", COLUMN_TEXT },
	[STATUS_KIND] = { "KIND", "kind", COLUMN_TEXT },
	[STATUS_STARTED] = { "LAST PASS", "last_pass", COLUMN_TEXT },
	[STATUS_OUTCOME] = { "OUTCOME", "outcome", COLUMN_TEXT },
	[STATUS_FREED] = { "FREED", "freed_bytes", COLUMN_NUMBER },
	[STATUS_FREED_TOTAL] = { "IN ALL", "freed_total_bytes", COLUMN_NUMBER },
	[STATUS_PASSES] = { NULL, "passes", COLUMN_NUMBER },
	[STATUS_OBJECTS] = { "OBJECTS", "objects", COLUMN_NUMBER },
	[STATUS_STORE_BYTES] = { "STORE", "store_bytes", COLUMN_NUMBER },
	[STATUS_ANCHOR_BLOCKS] = { NULL, "anchor_blocks", COLUMN_NUMBER },
	[STATUS_WINDOW] = { NULL, "window", COLUMN_NUMBER },
	[STATUS_UUID] = { "UUID", "uuid", COLUMN_TEXT_CUT },
	[STATUS_STORE_PATH] = { NULL, "store_path", COLUMN_TEXT },
	[STATUS_SKIPPED] = { NULL, "skipped", COLUMN_TABLE },
};

const TableKind table_of_status = { "filesystems", status_columns, G_N_ELEMENTS(status_columns) };

enum { SKIPPED_REASON, SKIPPED_COUNT, SKIPPED_BYTES, SKIPPED_EXAMPLES };

static const TableColumn skipped_columns[] = {
	[SKIPPED_REASON] = { "REASON", "reason", COLUMN_TEXT },
	[SKIPPED_COUNT] = { "COUNT", "count", COLUMN_NUMBER },
	[SKIPPED_BYTES] = { "SIZE", "bytes", COLUMN_NUMBER },
	[SKIPPED_EXAMPLES] = { "FOR EXAMPLE", "examples", COLUMN_LINES },
};

static const TableKind table_of_skipped = { "skipped", skipped_columns,
					    G_N_ELEMENTS(skipped_columns) };

/* What one store says; all of it is read before any of it is shown. */
typedef struct {
	uint64_t n_objects;
	PassTotals totals;
	Table *skipped;
} StoreFacts;

static void store_facts_clear(StoreFacts *facts)
{
	g_clear_pointer(&facts->skipped, table_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(StoreFacts, store_facts_clear)

static char *join_examples(const char *const *examples, size_t most)
{
	GString *joined = g_string_new(NULL);

	for (size_t i = 0; examples && examples[i] && i < most; i++) {
		g_autofree char *text = message_text(examples[i]);

		g_string_append_printf(joined, "%s%s", i > 0 ? "\n" : "", text);
	}

	return g_string_free(joined, FALSE);
}

static void add_skip(Table *table, const SkipRecord *skip, const Options *options)
{
	/* To a person one example says what is meant. */
	size_t examples_most = options->json || options->verbose ? SIZE_MAX : 1;
	g_autofree char *reason = message_text(skip->reason);
	g_autofree char *examples = join_examples(skip->examples, examples_most);

	table_add_row(table);
	table_set_text(table, SKIPPED_REASON, reason);
	table_set_count(table, SKIPPED_COUNT, skip->count);
	table_set_size(table, SKIPPED_BYTES, skip->bytes);
	if (examples[0] != '\0')
		table_set_text(table, SKIPPED_EXAMPLES, examples);
}

static Table *read_skipped(HashStore *store, const Options *options, GError **error)
{
	g_autoptr(Table) table = table_new(&table_of_skipped, options);
	g_autoptr(SkipCursor) cursor = skip_cursor_open(store, error);
	const SkipRecord *skip;

	if (!cursor)
		return NULL;

	while (true) {
		if (!skip_cursor_next(cursor, &skip, error))
			return NULL;
		if (!skip)
			return g_steal_pointer(&table);
		add_skip(table, skip, options);
	}
}

static bool read_facts(HashStore *store, const Options *options, StoreFacts *ret, GError **error)
{
	if (!hash_store_count_objects(store, &ret->n_objects, error) ||
	    !hash_store_pass_totals(store, &ret->totals, error))
		return false;

	ret->skipped = read_skipped(store, options, error);
	return ret->skipped;
}

static void add_status(Table *table, const StoreEntry *entry, const StoreFacts *facts)
{
	const HashStoreAbout *about = hash_store_about(entry->store);
	g_autofree char *kind = message_text(about->kind);
	g_autofree char *uuid = message_text(about->uuid);
	g_autofree char *path = message_text(hash_store_path(entry->store));

	table_add_row(table);
	table_set_text(table, STATUS_KIND, kind);
	table_set_text(table, STATUS_UUID, uuid);
	table_set_text(table, STATUS_STORE_PATH, path);
	table_set_size(table, STATUS_STORE_BYTES, hash_store_file_bytes(entry->store));
	table_set_count(table, STATUS_ANCHOR_BLOCKS, about->anchor_blocks);
	table_set_count(table, STATUS_WINDOW, about->window_anchors);
	table_set_count(table, STATUS_OBJECTS, facts->n_objects);
	table_set_count(table, STATUS_PASSES, facts->totals.passes);
	table_set_size(table, STATUS_FREED_TOTAL, facts->totals.freed_bytes);
	table_set_table(table, STATUS_SKIPPED, facts->skipped);
	if (!entry->has_pass)
		return;

	g_autofree char *mount_point = pass_mount_point(&entry->last_pass);
	table_set_text(table, STATUS_MOUNT, mount_point);
	table_set_time(table, STATUS_STARTED, entry->last_pass.started_usec);
	table_set_text(table, STATUS_OUTCOME, pass_outcome_name(entry->last_pass.outcome));
	table_set_size(table, STATUS_FREED, entry->last_pass.freed_bytes);
}

/* What was left alone on each filesystem, to be shown below the filesystems. */
typedef struct {
	char *mount_point;
	Table *skipped;
} LeftAlone;

static void left_alone_free(void *data)
{
	LeftAlone *left = data;

	table_free(left->skipped);
	g_free(left->mount_point);
	g_free(left);
}

static void left_alone_print(const LeftAlone *left)
{
	g_autofree char *mount_point = message_terminal_text(left->mount_point);

	if (table_count_rows(left->skipped) == 0) {
		printf("\nThe last pass over %s left nothing alone.\n", mount_point);
		return;
	}
	printf("\nLeft alone by the last pass over %s:\n", mount_point);
	table_print(left->skipped);
}

static void show_for_people(Table *table, const GPtrArray *left_alone, const Options *options)
{
	table_print(table);

	if ((left_alone->len != 1 && !options->verbose) || options->columns || options->raw ||
	    options->no_headings)
		return;
	for (size_t i = 0; i < left_alone->len; i++)
		left_alone_print(left_alone->pdata[i]);
}

ExitStatus verb_status(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(StoreList) list =
		store_list_open(options->state_directory, options->names, &error);
	g_autoptr(Table) table = table_new_asked(&table_of_status, options);
	g_autoptr(GPtrArray) left_alone = g_ptr_array_new_with_free_func(left_alone_free);
	const StoreEntry *entry;

	if (!list) {
		message_print("cannot read the stores: %s", error->message);
		return EXIT_STATUS_FAILED;
	}

	while ((entry = store_list_next(list))) {
		g_auto(StoreFacts) facts = { 0 };
		GError *cause = NULL;

		if (!read_facts(entry->store, options, &facts, &cause)) {
			store_list_failed_take(list, cause);
			continue;
		}
		add_status(table, entry, &facts);
		if (!entry->has_pass)
			continue;

		LeftAlone *left = g_new(LeftAlone, 1);
		left->mount_point = pass_mount_point(&entry->last_pass);
		left->skipped = g_steal_pointer(&facts.skipped);
		g_ptr_array_add(left_alone, left);
	}

	if (options->json)
		table_print(table);
	else if (store_list_count(list) == 0 && !options->names)
		store_list_say_none(list);
	else
		show_for_people(table, left_alone, options);

	return store_list_finish(list) ? EXIT_STATUS_DONE : EXIT_STATUS_FAILED;
}
