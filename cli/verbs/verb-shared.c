/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/named-file.h"
#include "cli/files/shared-bytes.h"
#include "cli/terminal/message.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"

#define SHARED_COLUMNS(COLUMN)                                                                     \
	COLUMN(SHARED_VERDICT, "SHARED", "verdict", COLUMN_TEXT)                                   \
	COLUMN(SHARED_BYTES, "BYTES", "shared_bytes", COLUMN_NUMBER)                               \
	COLUMN(SHARED_IN_PLACE, "IN PLACE", "in_place_bytes", COLUMN_NUMBER)                       \
	COLUMN(SHARED_FIRST_DATA, "OF FIRST", "first_data_bytes", COLUMN_NUMBER)                   \
	COLUMN(SHARED_FIRST_SHARED, NULL, "first_shared_bytes", COLUMN_NUMBER)                     \
	COLUMN(SHARED_SECOND_DATA, "OF SECOND", "second_data_bytes", COLUMN_NUMBER)                \
	COLUMN(SHARED_SECOND_SHARED, NULL, "second_shared_bytes", COLUMN_NUMBER)                   \
	COLUMN(SHARED_FIRST, NULL, "first", COLUMN_TEXT)                                           \
	COLUMN(SHARED_SECOND, NULL, "second", COLUMN_TEXT)                                         \
	COLUMN(SHARED_WHY, "WHY", "why", COLUMN_TEXT)

TABLE_COLUMNS(columns, SHARED_COLUMNS);

const TableKind table_of_shared = { "shared", columns, G_N_ELEMENTS(columns), "dedupctl-shared",
				    1 };

typedef struct {
	const char *name;
	const char *why; /* or NULL */
	ExitStatus status;
} Verdict;

static Verdict judge(const NamedFile *one, const NamedFile *other, const SharedBytes *count)
{
	bool is_repeated = MAX(count->shared_bytes[0], count->shared_bytes[1]) > count->disk_bytes;
	const char *why = is_repeated ? "a file repeats data, which BYTES count once" : NULL;

	if (named_files_are_same(one, other))
		return (Verdict){ "all", "both are one file", EXIT_STATUS_DONE };
	if (!named_files_are_neighbours(one, other))
		return (Verdict){ "none", "they lie on different filesystems",
				  EXIT_STATUS_NOT_AT_ALL };
	if (count->data_bytes[0] == 0 || count->data_bytes[1] == 0)
		return (Verdict){ "none", "one of them has no data", EXIT_STATUS_NOT_AT_ALL };
	if (count->disk_bytes == 0)
		return (Verdict){ "none", NULL, EXIT_STATUS_NOT_AT_ALL };
	if (count->shared_bytes[0] == count->data_bytes[0] &&
	    count->shared_bytes[1] == count->data_bytes[1])
		return (Verdict){ "all", why, EXIT_STATUS_DONE };

	return (Verdict){ "partly", why, EXIT_STATUS_PARTLY };
}

static void print(const Options *options, const NamedFile *one, const NamedFile *other,
		  const SharedBytes *count, const Verdict *verdict)
{
	g_autoptr(Table) table = table_new_asked(&table_of_shared, options);

	table_add_row(table);
	table_set_text(table, SHARED_VERDICT, verdict->name);
	table_set_size(table, SHARED_BYTES, count->disk_bytes);
	table_set_size(table, SHARED_IN_PLACE, count->in_place_bytes);
	table_set_size(table, SHARED_FIRST_DATA, count->data_bytes[0]);
	table_set_size(table, SHARED_FIRST_SHARED, count->shared_bytes[0]);
	table_set_size(table, SHARED_SECOND_DATA, count->data_bytes[1]);
	table_set_size(table, SHARED_SECOND_SHARED, count->shared_bytes[1]);
	table_set_text(table, SHARED_FIRST, one->name);
	table_set_text(table, SHARED_SECOND, other->name);
	table_set_text(table, SHARED_WHY, verdict->why);
	table_print(table);
}

ExitStatus verb_shared(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(NamedFile) one = NULL;
	g_autoptr(NamedFile) other = NULL;
	SharedBytes count = { 0 };

	if (!options->names || g_strv_length(options->names) != 2)
		return message_fail(EXIT_STATUS_USAGE, "shared: it takes two files");

	one = named_file_open(options->names[0], NULL, &error);
	other = one ? named_file_open(options->names[1], NULL, &error) : NULL;
	if (!other || !shared_bytes_count(one, other, &count, &error))
		return message_fail_error(error);

	Verdict verdict = judge(one, other, &count);
	print(options, one, other, &count, &verdict);
	return verdict.status;
}
