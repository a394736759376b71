/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/mounted-name.h"
#include "cli/arguments/point-in-time.h"
#include "cli/client/journal-reader.h"
#include "cli/terminal/message.h"
#include "cli/terminal/table.h"
#include "cli/terminal/time-text.h"
#include "cli/verbs/verb.h"
#include "common/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The default number of last messages. */
#define LINES_USUAL        100
#define LINES_WHEN_FOLLOWS 10

#define LOG_COLUMNS(COLUMN)                                                                        \
	COLUMN(LOG_TIME, "TIME", "time", COLUMN_TEXT)                                              \
	COLUMN(LOG_PRIORITY, "PRIORITY", "priority", COLUMN_TEXT)                                  \
	COLUMN(LOG_MESSAGE, "MESSAGE", "message", COLUMN_TEXT)                                     \
	COLUMN(LOG_MOUNT, NULL, "mount_point", COLUMN_TEXT)                                        \
	COLUMN(LOG_UUID, NULL, "uuid", COLUMN_TEXT)                                                \
	COLUMN(LOG_OUTCOME, NULL, "outcome", COLUMN_TEXT)                                          \
	COLUMN(LOG_SECONDS, NULL, "seconds", COLUMN_NUMBER)                                        \
	COLUMN(LOG_READ, NULL, "read_bytes", COLUMN_NUMBER)                                        \
	COLUMN(LOG_SHARED, NULL, "shared_bytes", COLUMN_NUMBER)                                    \
	COLUMN(LOG_FREED, NULL, "freed_bytes", COLUMN_NUMBER)                                      \
	COLUMN(LOG_UNIT, NULL, "unit", COLUMN_TEXT)                                                \
	COLUMN(LOG_MESSAGE_ID, NULL, "message_id", COLUMN_TEXT)

TABLE_COLUMNS(columns, LOG_COLUMNS);

const TableKind table_of_log = { "messages", columns, G_N_ELEMENTS(columns), "dedupctl-log", 1 };

static const struct {
	size_t column;
	const char *field;
} texts[] = {
	{ LOG_MESSAGE, "MESSAGE" },      { LOG_MOUNT, "DEDUPD_MOUNT_POINT" },
	{ LOG_UUID, "DEDUPD_UUID" },     { LOG_OUTCOME, "DEDUPD_OUTCOME" },
	{ LOG_UNIT, "_SYSTEMD_UNIT" },   { LOG_MESSAGE_ID, "MESSAGE_ID" },
}, sizes[] = {
	{ LOG_READ, "DEDUPD_READ_BYTES" },
	{ LOG_SHARED, "DEDUPD_SHARED_BYTES" },
	{ LOG_FREED, "DEDUPD_FREED_BYTES" },
};

/* syslog(3)'s word for the digit. */
static const char *priority_name(const char *digit)
{
	static const char *const names[] = { "emergency", "alert",  "critical", "error",
					     "warning",   "notice", "info",     "debug" };

	if (!digit || digit[0] < '0' || digit[0] > '7' || digit[1] != '\0')
		return NULL;
	return names[digit[0] - '0'];
}

static void set_numbers(Table *table, const JournalReader *reader)
{
	g_autofree char *seconds = journal_reader_field(reader, "DEDUPD_SECONDS");

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autofree char *text = journal_reader_field(reader, sizes[i].field);
		guint64 bytes;

		if (text && g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64, &bytes, NULL))
			table_set_size(table, sizes[i].column, bytes);
	}
	if (seconds)
		table_set_duration(table, LOG_SECONDS,
				   (int64_t)(g_ascii_strtod(seconds, NULL) * G_USEC_PER_SEC));
}

static void add_row(Table *table, const JournalReader *reader)
{
	g_autofree char *priority = journal_reader_field(reader, "PRIORITY");

	table_add_row(table);
	table_set_time(table, LOG_TIME, journal_reader_time(reader));
	table_set_text(table, LOG_PRIORITY, priority_name(priority));
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autofree char *field = journal_reader_field(reader, texts[i].field);
		g_autofree char *safe = field ? message_text(field) : NULL;

		table_set_text(table, texts[i].column, safe);
	}
	set_numbers(table, reader);
}

/* A line for each message that is followed. */
static void print_one(const JournalReader *reader, const Options *options)
{
	if (options->json || options->columns || options->raw) {
		g_autoptr(Table) table = table_new_asked(&table_of_log, options);

		add_row(table, reader);
		table_print_lines(table);
	} else {
		g_autofree char *time = time_text_local(journal_reader_time(reader));
		g_autofree char *said = journal_reader_field(reader, "MESSAGE");
		g_autofree char *text = message_terminal_text(said);

		printf("%s %s\n", time ? time : "-", text);
	}
	fflush(stdout);
}

static bool follow(JournalReader *reader, const Options *options, GError **error)
{
	bool is_there;

	while (journal_reader_next(reader, &is_there, error)) {
		if (is_there)
			print_one(reader, options);
		else if (!journal_reader_wait(reader, error))
			return false;
		if (ferror(stdout))
			return true;
	}

	return false;
}

static bool print_all(JournalReader *reader, const Options *options, GError **error)
{
	g_autoptr(Table) table = table_new_asked(&table_of_log, options);

	while (true) {
		bool is_there;

		if (!journal_reader_next(reader, &is_there, error))
			return false;
		if (!is_there)
			break;
		add_row(table, reader);
	}

	table_print(table);
	return true;
}

/*
 * Find what to match for the names: a UUID, or a mount point and what is mounted there now.  False: a name is
 * neither, which is reported.
 */
static bool resolve(const Options *options, GPtrArray *uuids, GPtrArray *mount_points)
{
	g_autoptr(MountTable) mounts =
		options->names ? mount_table_read(NULL, NULL, NULL, NULL) : NULL;

	for (char **name = options->names; name && *name; name++) {
		const MountedFilesystem *mounted = mounts ? mounted_name_find(mounts, *name) : NULL;
		g_autofree char *real = realpath(*name, NULL);
		g_autofree char *plain = config_name_of_filesystem(real ? real : *name);

		if (!plain && !mounted) {
			message_print("%s is neither a UUID nor a mount point", *name);
			return false;
		}
		if (mounted && mounted->uuid[0] != '\0')
			g_ptr_array_add(uuids, g_strdup(mounted->uuid));
		else if (plain && *plain != '/')
			g_ptr_array_add(uuids, g_strdup(plain));
		if (plain && *plain == '/')
			g_ptr_array_add(mount_points, g_strdup(plain));
	}

	return true;
}

/* Check where to begin.  False: wrong usage, which is reported. */
static bool find_begin(const Options *options, uint64_t *ret_n, int64_t *ret_since_usec)
{
	g_autoptr(GError) error = NULL;

	*ret_since_usec = 0;
	*ret_n = options->lines >= 0     ? (uint64_t)options->lines
		 : options->since        ? 0
		 : options->is_following ? LINES_WHEN_FOLLOWS
					 : LINES_USUAL;
	if (!options->since ||
	    point_in_time_parse(options->since, g_get_real_time(), ret_since_usec, &error))
		return true;

	message_print("--since: %s", error->message);
	return false;
}

ExitStatus verb_log(const Options *options)
{
	g_autoptr(GPtrArray) uuids = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) mount_points = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(JournalReader) reader = NULL;
	g_autoptr(GError) error = NULL;
	int64_t since_usec;
	uint64_t n;

	if (!find_begin(options, &n, &since_usec) || !resolve(options, uuids, mount_points))
		return EXIT_STATUS_USAGE;

	reader = journal_reader_open(options->directory, &error);
	if (!reader)
		return message_fail(EXIT_STATUS_NEEDS_DAEMON, "%s",
				    error ? error->message
					  : "there is no journal here that you may read");
	if (journal_reader_select(reader, uuids, mount_points, &error) &&
	    journal_reader_seek(reader, n, since_usec, &error) &&
	    (options->is_following ? follow(reader, options, &error)
				   : print_all(reader, options, &error)))
		return EXIT_STATUS_DONE;

	return message_fail_error(error);
}
