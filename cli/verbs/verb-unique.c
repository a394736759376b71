/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/file-reporter.h"
#include "cli/files/stored-object.h"
#include "cli/files/tree-files.h"
#include "cli/terminal/message.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"

#include <stdio.h>
#include <string.h>

#define UNIQUE_COLUMNS(COLUMN)                                                                     \
	COLUMN(UNIQUE_DATA, "DATA", "data_bytes", COLUMN_NUMBER)                                   \
	COLUMN(UNIQUE_ELSEWHERE, "ELSEWHERE", "elsewhere_bytes", COLUMN_NUMBER)                    \
	COLUMN(UNIQUE_STATE, "STORE", "state", COLUMN_TEXT)                                        \
	COLUMN(UNIQUE_FILE, "FILE", "file", COLUMN_TEXT)

TABLE_COLUMNS(columns, UNIQUE_COLUMNS);

const TableKind table_of_unique = { "unique_files", columns, G_N_ELEMENTS(columns),
				    "dedupctl-unique", 1 };

/* The request, and its results so far. */
typedef struct {
	FileReporter *reporter; /* without a store, all are unique as far as is known */
	Table *table;
	ExitStatus status;
	bool is_in_use; /* already reported */
	bool names_only;
	uint64_t n_found;
	LastFilesystem last;
} Search;

static void say_in_use(Search *search)
{
	file_reporter_clear_progress(search->reporter);
	if (!search->is_in_use)
		message_print("a pass works on the filesystem: dedupctl cannot ask for duplicates "
			      "of extents until it ends, and counts none");
	search->is_in_use = true;
	if (search->status == EXIT_STATUS_DONE)
		search->status = EXIT_STATUS_IN_USE;
}

static void fail(Search *search, const GError *error)
{
	if (search->reporter)
		file_reporter_clear_progress(search->reporter);
	message_print_error(error);
	search->status = EXIT_STATUS_FAILED;
}

/* Add the file unless all of its data is elsewhere, too.  A file without data is neither. */
static void look_at(Search *search, const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(NamedFile) file = named_file_open(path, &search->last, &error);
	g_autoptr(FileReport) report =
		file ? file_reporter_report(search->reporter, file, &error) : NULL;

	if (!report) {
		fail(search, error);
		return;
	}
	if (report->is_in_use)
		say_in_use(search);
	if (report->elsewhere_bytes == report->data_bytes)
		return;

	search->n_found++;
	if (search->names_only) {
		file_reporter_clear_progress(search->reporter);
		fwrite(path, 1, strlen(path) + 1, stdout);
		return;
	}

	table_add_row(search->table);
	table_set_size(search->table, UNIQUE_DATA, report->data_bytes);
	table_set_size(search->table, UNIQUE_ELSEWHERE, report->elsewhere_bytes);
	table_set_text(search->table, UNIQUE_STATE, file_state_name(report->state));
	table_set_text(search->table, UNIQUE_FILE, file->name);
}

static void search_below(Search *search, const char *directory, const Options *options)
{
	g_autoptr(GError) error = NULL;
	FsIdentity identity;
	g_autoptr(TreeFiles) files = tree_files_open(directory, &identity, &error);
	g_autoptr(HashStore) store =
		files ? known_store_open(options->state_directory, &identity, &error) : NULL;
	g_autoptr(FileReporter) reporter = NULL;
	const char *path;

	if (!files ||
	    (!store && !g_error_matches(error, HASH_STORE_ERROR, HASH_STORE_ERROR_ABSENT))) {
		fail(search, error);
		return;
	}

	reporter = file_reporter_new(store);
	search->reporter = reporter;
	while (true) {
		g_autoptr(GError) unread = NULL;

		if (!tree_files_next(files, &path, &unread)) {
			fail(search, unread);
			continue;
		}
		if (!path)
			break;
		look_at(search, path);
	}
	search->reporter = NULL;
}

ExitStatus verb_unique(const Options *options)
{
	g_autoptr(Table) table = table_new_asked(&table_of_unique, options);
	Search search = { .table = table, .names_only = options->nul };

	if (!options->names)
		return message_fail(EXIT_STATUS_USAGE, "unique: it takes directories");

	for (char **name = options->names; *name; name++)
		search_below(&search, *name, options);
	if (!options->nul)
		table_print(table);
	if (search.n_found == 0 && search.status == EXIT_STATUS_DONE)
		message_print("unique: all data of these files is in other files, too");
	return search.status;
}
