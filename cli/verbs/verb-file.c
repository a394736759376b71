/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/file-pieces.h"
#include "cli/files/file-reporter.h"
#include "cli/files/stored-object.h"
#include "cli/terminal/message.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "common/text/name-text.h"

#include <stdio.h>
#include <string.h>

/* The maximum number of extents listed. */
#define EXTENTS_MOST 10000

#define FILE_COLUMNS(COLUMN)                                                                       \
	COLUMN(FILE_SIZE, "SIZE", "size_bytes", COLUMN_NUMBER)                                     \
	COLUMN(FILE_DATA, "DATA", "data_bytes", COLUMN_NUMBER)                                     \
	COLUMN(FILE_EXTENTS, "EXTENTS", "extents", COLUMN_NUMBER)                                  \
	COLUMN(FILE_SHARED, "SHARED", "shared_bytes", COLUMN_NUMBER)                               \
	COLUMN(FILE_EQUAL, "EQUAL", "equal_bytes", COLUMN_NUMBER)                                  \
	COLUMN(FILE_WOULD_FREE, "WOULD FREE", "would_free_bytes", COLUMN_NUMBER)                   \
	COLUMN(FILE_PINNED, "PINNED", "pinned_bytes", COLUMN_NUMBER)                               \
	COLUMN(FILE_DEFERRED, NULL, "deferred_bytes", COLUMN_NUMBER)                               \
	COLUMN(FILE_STATE, "STORE", "state", COLUMN_TEXT)                                          \
	COLUMN(FILE_NAME, "FILE", "file", COLUMN_TEXT)                                             \
	COLUMN(FILE_IN_USE, NULL, "in_use", COLUMN_TEXT)                                           \
	COLUMN(FILE_OTHERS, NULL, "others", COLUMN_NUMBER)                                         \
	COLUMN(FILE_OTHER_FILES, NULL, "other_files", COLUMN_TABLE)                                \
	COLUMN(FILE_EXTENT_LIST, NULL, "extent_list", COLUMN_TABLE)

TABLE_COLUMNS(file_columns, FILE_COLUMNS);

const TableKind table_of_file = { "files", file_columns, G_N_ELEMENTS(file_columns),
				  "dedupctl-file", 1 };

#define EXTENT_COLUMNS(COLUMN)                                                                     \
	COLUMN(EXTENT_LOGICAL, "AT", "offset", COLUMN_NUMBER)                                      \
	COLUMN(EXTENT_PHYSICAL, "ON DISK", "address", COLUMN_NUMBER)                               \
	COLUMN(EXTENT_LENGTH, "LENGTH", "bytes", COLUMN_NUMBER)                                    \
	COLUMN(EXTENT_FLAGS, "FLAGS", "flags", COLUMN_TEXT)                                        \
	COLUMN(EXTENT_PLACES, "PLACES", "places", COLUMN_NUMBER)                                   \
	COLUMN(EXTENT_EQUALS, "EQUALS", "equals", COLUMN_NUMBER)                                   \
	COLUMN(EXTENT_STATE, "STORE", "state", COLUMN_TEXT)                                        \
	COLUMN(EXTENT_PIN, "PINNED", "pinned", COLUMN_TEXT)                                        \
	COLUMN(EXTENT_PINNED_BY, "BY", "pinned_by", COLUMN_TEXT)

TABLE_COLUMNS(extent_columns, EXTENT_COLUMNS);

static const TableKind table_of_extents = { "extent_list", extent_columns,
					    G_N_ELEMENTS(extent_columns), NULL, 0 };

#define OTHER_COLUMNS(COLUMN)                                                                      \
	COLUMN(OTHER_RELATION, "IS", "relation", COLUMN_TEXT)                                      \
	COLUMN(OTHER_BYTES, "BYTES", "bytes", COLUMN_NUMBER)                                       \
	COLUMN(OTHER_NAME, "FILE", "file", COLUMN_TEXT)

TABLE_COLUMNS(other_columns, OTHER_COLUMNS);

static const TableKind table_of_others = { "other_files", other_columns,
					   G_N_ELEMENTS(other_columns), NULL, 0 };

static void set_path(Table *table, size_t column, const char *path)
{
	g_autofree char *text = path ? name_text(path, strlen(path)) : NULL;

	table_set_text(table, column, text);
}

static char *flags_text(unsigned flags)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = { { PIECE_INLINE, "inline" },
		      { PIECE_ENCODED, "compressed" },
		      { PIECE_SHARED, "shared" },
		      { PIECE_UNPLACED, "unplaced" } };
	GString *text = g_string_new(NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		if (flags & names[i].flag)
			g_string_append_printf(text, "%s%s", text->len > 0 ? "," : "",
					       names[i].name);
	return g_string_free(text, FALSE);
}

static Table *extents_table(FileReport *report, const Options *options, GError **error)
{
	g_autoptr(Table) table = table_new(&table_of_extents, options);
	const ReportedExtent *extent;

	for (guint i = 0; i < EXTENTS_MOST; i++) {
		if (!file_report_next(report, &extent, error))
			return NULL;
		if (!extent)
			break;
		g_autofree char *flags = flags_text(extent->flags);

		table_add_row(table);
		table_set_count(table, EXTENT_LOGICAL, extent->logical);
		if (!(extent->flags & (PIECE_INLINE | PIECE_UNPLACED)))
			table_set_count(table, EXTENT_PHYSICAL, extent->physical);
		table_set_size(table, EXTENT_LENGTH, extent->length);
		table_set_text(table, EXTENT_FLAGS, flags);
		if (extent->places != FILE_REPORT_NOT_ASKED) {
			table_set_count(table, EXTENT_PLACES, extent->places);
			table_set_count(table, EXTENT_EQUALS, extent->equals);
		}
		table_set_text(table, EXTENT_STATE, file_state_name(extent->state));
		table_set_text(table, EXTENT_PIN, extent->pinned);
		set_path(table, EXTENT_PINNED_BY, extent->pinned_by);
	}

	return g_steal_pointer(&table);
}

static Table *others_table(const FileReport *report, const Options *options)
{
	Table *table = table_new(&table_of_others, options);

	for (guint i = 0; i < report->others->len; i++) {
		const ReportedFile *other = &g_array_index(report->others, ReportedFile, i);

		table_add_row(table);
		table_set_text(table, OTHER_RELATION, other_relation_name(other->relation));
		table_set_size(table, OTHER_BYTES, other->bytes);
		if (other->path || options->json)
			set_path(table, OTHER_NAME, other->path);
		else
			table_set_text(table, OTHER_NAME, "(deleted, or its name is not known)");
	}

	return table;
}

static void add_row(Table *table, const NamedFile *file, const FileReport *report, Table *extents,
		    Table *others)
{
	table_add_row(table);
	table_set_size(table, FILE_SIZE, file->stat.size_bytes);
	table_set_size(table, FILE_DATA, report->data_bytes);
	table_set_count(table, FILE_EXTENTS, report->n_extents);
	table_set_size(table, FILE_SHARED, report->shared_bytes);
	table_set_size(table, FILE_EQUAL, report->equal_bytes);
	table_set_size(table, FILE_WOULD_FREE, report->would_free_bytes);
	table_set_size(table, FILE_PINNED, report->pinned_bytes);
	table_set_size(table, FILE_DEFERRED, report->deferred_bytes);
	table_set_text(table, FILE_STATE, file_state_name(report->state));
	table_set_text(table, FILE_NAME, file->name);
	table_set_text(table, FILE_IN_USE, report->is_in_use ? "yes" : "no");
	table_set_count(table, FILE_OTHERS, report->n_others);
	table_set_table(table, FILE_OTHER_FILES, others);
	table_set_table(table, FILE_EXTENT_LIST, extents);
}

static void print_details(Table *extents, Table *others, const FileReport *report)
{
	if (table_count_rows(extents) > 0) {
		printf("\nExtents:\n");
		table_print(extents);
	}
	if (report->n_extents > EXTENTS_MOST)
		printf("… and %" G_GUINT64_FORMAT " more\n", report->n_extents - EXTENTS_MOST);
	if (table_count_rows(others) > 0) {
		printf("\nOther files:\n");
		table_print(others);
	}
	if (report->n_others > report->others->len)
		printf("… and more: %" G_GUINT64_FORMAT " in all at least\n", report->n_others);
}

/* Open the store of the file's filesystem; NULL: there is none, which is reported unless it is obvious. */
static HashStore *open_store(const NamedFile *file, const Options *options, ExitStatus *status)
{
	g_autoptr(GError) error = NULL;
	HashStore *store = known_store_open(options->state_directory, &file->identity, &error);

	if (!store && !g_error_matches(error, HASH_STORE_ERROR, HASH_STORE_ERROR_ABSENT)) {
		message_print_error(error);
		*status = EXIT_STATUS_FAILED;
	}
	return store;
}

/* Print the other files that share with it or equal it now. */
static void print_others(const FileReport *report)
{
	for (guint i = 0; i < report->others->len; i++) {
		const ReportedFile *other = &g_array_index(report->others, ReportedFile, i);

		if (other->relation <= OTHER_EQUALS && other->path)
			fwrite(other->path, 1, strlen(other->path) + 1, stdout);
	}
	if (report->n_others > report->others->len)
		message_print("there are others: %" G_GUINT64_FORMAT " in all at least",
			      report->n_others);
}

/* Add all about one file; with @is_detailed, print what does not fit the table. */
static void show(const char *name, Table *table, const Options *options, bool is_detailed,
		 ExitStatus *status)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(NamedFile) file = named_file_open(name, NULL, &error);
	g_autoptr(HashStore) store = file ? open_store(file, options, status) : NULL;
	g_autoptr(FileReporter) reporter = file_reporter_new(store);
	g_autoptr(FileReport) report = NULL;
	g_autoptr(Table) extents = NULL;

	file_reporter_ask_sharers(reporter);
	report = file ? file_reporter_report(reporter, file, &error) : NULL;
	extents = report ? extents_table(report, options, &error) : NULL;
	file_reporter_clear_progress(reporter);
	if (!extents) {
		message_print_error(error);
		*status = EXIT_STATUS_FAILED;
		return;
	}
	if (report->is_in_use) {
		message_print("a pass works on the filesystem of %s: dedupctl cannot ask for files "
			      "that share or equal its extents until it ends",
			      file->text);
		if (*status == EXIT_STATUS_DONE)
			*status = EXIT_STATUS_IN_USE;
	}

	if (options->nul) {
		print_others(report);
		return;
	}

	g_autoptr(Table) others = others_table(report, options);
	add_row(table, file, report, extents, others);
	if (!is_detailed)
		return;
	table_print(table);
	print_details(extents, others, report);
}

ExitStatus verb_file(const Options *options)
{
	g_autoptr(Table) table = table_new_asked(&table_of_file, options);
	bool is_detailed = options->names && !options->names[1] &&
			   !options_are_for_programs(options) && !options->nul;
	ExitStatus status = EXIT_STATUS_DONE;

	if (!options->names)
		return message_fail(EXIT_STATUS_USAGE, "file: it takes files");

	for (char **name = options->names; *name; name++)
		show(*name, table, options, is_detailed, &status);
	if (!is_detailed && !options->nul)
		table_print(table);
	return status;
}
