/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/store-list.h"
#include "cli/files/file-reasons.h"
#include "cli/files/file-reporter.h"
#include "cli/files/stored-object.h"
#include "cli/terminal/message.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "common/config/config.h"
#include "common/mounts/mount-table.h"

#include <string.h>

#define WHY_COLUMNS(COLUMN)                                                                        \
	COLUMN(WHY_REASON, "REASON", "reason", COLUMN_TEXT)                                        \
	COLUMN(WHY_BYTES, "BYTES", "bytes", COLUMN_NUMBER)                                         \
	COLUMN(WHY_FILE, "FILE", "file", COLUMN_TEXT)                                              \
	COLUMN(WHY_EVIDENCE, "AS", "evidence", COLUMN_TEXT)

TABLE_COLUMNS(columns, WHY_COLUMNS);

const TableKind table_of_why = { "reasons", columns, G_N_ELEMENTS(columns), "dedupctl-why", 1 };

/* The inputs for one file. */
typedef struct {
	NamedFile *file;
	StoreEntry known; /* without a store: there is none */
	FileReporter *reporter;
	FileReport *report;
	Config *config;
	char uuid[FS_UUID_TEXT_BYTES];
	const char *names[3]; /* names of the filesystem */
	bool is_compressing;
	Settings settings;
} Case;

static void case_clear(Case *it)
{
	settings_clear(&it->settings);
	config_free(it->config);
	file_report_free(it->report);
	file_reporter_free(it->reporter);
	store_entry_clear(&it->known);
	named_file_close(it->file);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Case, case_clear)

/* Read the configuration of the filesystem. */
static bool load_settings(Case *it, const Options *options, GError **error)
{
	it->config = config_read_chosen(options->config, error);
	if (!it->config)
		return false;

	fs_uuid_format(it->file->identity.uuid, it->uuid);
	it->names[0] = it->uuid;
	it->names[1] = it->known.last_pass.mount_point;
	config_settings(it->config, it->names, &it->settings);
	return true;
}

/* Whether the filesystem compresses written data. */
static bool is_mounted_compressing(const Case *it)
{
	g_autoptr(MountTable) mounts = mount_table_read(NULL, NULL, NULL, NULL);
	const MountedFilesystem *filesystem =
		mounts ? mount_table_find_uuid(mounts, it->uuid) : NULL;

	return filesystem && strstr(filesystem->options, "compress");
}

static bool open_case(Case *it, const char *name, const Options *options, GError **error)
{
	g_autoptr(GError) cause = NULL;

	it->file = named_file_open(name, NULL, error);
	if (!it->file)
		return false;
	it->known.store = known_store_open(options->state_directory, &it->file->identity, &cause);
	if (!it->known.store &&
	    !g_error_matches(cause, HASH_STORE_ERROR, HASH_STORE_ERROR_ABSENT)) {
		g_propagate_error(error, g_steal_pointer(&cause));
		return false;
	}
	if (it->known.store && !store_entry_read_pass(&it->known, error))
		return false;

	if (!load_settings(it, options, error))
		return false;
	it->is_compressing = is_mounted_compressing(it);
	it->reporter = file_reporter_new(it->known.store);
	file_reporter_ask_sharers(it->reporter);
	it->report = file_reporter_report(it->reporter, it->file, error);
	return it->report;
}

static void add_row(Table *table, const Case *it, const FileReason *reason)
{
	table_add_row(table);
	table_set_text(table, WHY_REASON, reason->reason);
	table_set_size(table, WHY_BYTES, reason->bytes);
	table_set_text(table, WHY_FILE, it->file->name);
	table_set_text(table, WHY_EVIDENCE, reason->evidence);
}

/* Add the reasons of one file. */
static ExitStatus explain(const char *name, Table *table, const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) reasons = NULL;
	g_auto(Case) it = { 0 };

	if (g_file_test(name, G_FILE_TEST_IS_DIR))
		return message_fail(
			EXIT_STATUS_FAILED,
			"%s is no regular file: name files, or use 'dedupctl unique' or "
			"'dedupctl waste'",
			name);
	if (open_case(&it, name, options, &error)) {
		const SettingOrigins origins = { it.config, it.names };
		const FileJudges judges = {
			.store = it.known.store,
			.last = it.known.has_pass ? &it.known.last_pass : NULL,
			.settings = &it.settings,
			.origins = &origins,
			.is_compressing = it.is_compressing,
			.mount_point = it.known.last_pass.mount_point,
		};

		reasons = file_reasons_find(it.file, it.report, &judges, &error);
	}
	if (!reasons)
		return message_fail_error(error);

	for (guint i = 0; i < reasons->len; i++)
		add_row(table, &it, reasons->pdata[i]);
	return it.report->is_in_use ? EXIT_STATUS_IN_USE : EXIT_STATUS_DONE;
}

ExitStatus verb_why(const Options *options)
{
	g_autoptr(Table) table = table_new_asked(&table_of_why, options);
	ExitStatus status = EXIT_STATUS_DONE;

	if (!options->names)
		return message_fail(EXIT_STATUS_USAGE, "why: it takes files");

	for (char **name = options->names; *name; name++) {
		ExitStatus one = explain(*name, table, options);

		if (status == EXIT_STATUS_DONE || one == EXIT_STATUS_FAILED)
			status = one;
	}
	table_print(table);
	return status;
}
