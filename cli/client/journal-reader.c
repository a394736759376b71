/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/journal-reader.h"

#include <errno.h>
#include <string.h>
#include <systemd/sd-journal.h>

#define SERVICE      "dedupd.service"
#define SERVICE_ONCE "dedupd-once.service"

struct JournalReader {
	sd_journal *journal;
	int64_t since_usec;
	bool is_at_one; /* the journal is already at the next message */
};

/* Make an error from a negative errno. */
static bool check(int failed, const char *what, GError **error)
{
	if (failed >= 0)
		return true;

	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-failed), "cannot %s: %s", what,
		    g_strerror(-failed));
	return false;
}

JournalReader *journal_reader_open(const char *directory, GError **error)
{
	g_autoptr(JournalReader) reader = g_new0(JournalReader, 1);
	uint64_t bytes = 0;
	int failed = directory ? sd_journal_open_directory(&reader->journal, directory, 0)
			       : sd_journal_open(&reader->journal,
						 SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);

	if (failed == -ENOENT)
		return NULL;
	if (!check(failed, "open the journal", error) ||
	    !check(sd_journal_get_usage(reader->journal, &bytes), "look at the journal", error))
		return NULL;
	/* Files that may not be opened are skipped. */
	return bytes > 0 ? g_steal_pointer(&reader) : NULL;
}

void journal_reader_close(JournalReader *reader)
{
	if (!reader)
		return;

	sd_journal_close(reader->journal);
	g_free(reader);
}

static int add(JournalReader *reader, const char *match)
{
	return sd_journal_add_match(reader->journal, match, 0);
}

static int add_field(JournalReader *reader, const char *name, const char *value)
{
	g_autofree char *match = g_strconcat(name, "=", value, NULL);

	return add(reader, match);
}

/*
 * Match dedupd's messages.  A pass over one filesystem has a unit of that name, so the identifier is matched.
 */
static int match_dedupd(JournalReader *reader)
{
	int failed = add(reader, "_SYSTEMD_UNIT=" SERVICE);

	if (failed >= 0)
		failed = add(reader, "_SYSTEMD_UNIT=" SERVICE_ONCE);
	if (failed >= 0)
		failed = sd_journal_add_disjunction(reader->journal);
	if (failed >= 0)
		failed = add(reader, "SYSLOG_IDENTIFIER=dedupd");
	if (failed >= 0)
		failed = add(reader, "_UID=0");
	if (failed >= 0)
		failed = sd_journal_add_disjunction(reader->journal);
	if (failed >= 0)
		failed = add(reader, "_PID=1");
	if (failed >= 0)
		failed = add(reader, "UNIT=" SERVICE);
	if (failed >= 0)
		failed = add(reader, "UNIT=" SERVICE_ONCE);
	return failed;
}

bool journal_reader_select(JournalReader *reader, const GPtrArray *uuids,
			   const GPtrArray *mount_points, GError **error)
{
	int failed = match_dedupd(reader);

	if (failed >= 0 && uuids->len + mount_points->len > 0)
		failed = sd_journal_add_conjunction(reader->journal);
	for (guint i = 0; failed >= 0 && i < uuids->len; i++)
		failed = add_field(reader, "DEDUPD_UUID", uuids->pdata[i]);
	if (failed >= 0 && uuids->len > 0 && mount_points->len > 0)
		failed = sd_journal_add_disjunction(reader->journal);
	for (guint i = 0; failed >= 0 && i < mount_points->len; i++)
		failed = add_field(reader, "DEDUPD_MOUNT_POINT", mount_points->pdata[i]);

	return check(failed, "search the journal", error);
}

bool journal_reader_seek(JournalReader *reader, uint64_t n, int64_t since_usec, GError **error)
{
	int got = n > 0 ? sd_journal_seek_tail(reader->journal)
		  : since_usec > 0
			  ? sd_journal_seek_realtime_usec(reader->journal, (uint64_t)since_usec)
			  : sd_journal_seek_head(reader->journal);

	reader->since_usec = since_usec;
	if (got >= 0 && n > 0)
		got = sd_journal_previous_skip(reader->journal, n);
	/* After the end of a journal without a match, sd-journal would never find a message. */
	if (got == 0 && n > 0)
		got = sd_journal_seek_head(reader->journal);
	reader->is_at_one = n > 0 && got > 0;
	return check(got, "go through the journal", error);
}

bool journal_reader_next(JournalReader *reader, bool *ret_there, GError **error)
{
	int got = 1;

	do {
		if (!reader->is_at_one)
			got = sd_journal_next(reader->journal);
		reader->is_at_one = false;
	} while (got > 0 && journal_reader_time(reader) < reader->since_usec);

	*ret_there = got > 0;
	return check(got, "read the journal", error);
}

bool journal_reader_wait(JournalReader *reader, GError **error)
{
	return check(sd_journal_wait(reader->journal, (uint64_t)-1), "wait for the journal", error);
}

int64_t journal_reader_time(const JournalReader *reader)
{
	uint64_t usec;

	if (sd_journal_get_realtime_usec(reader->journal, &usec) < 0)
		return 0;
	return (int64_t)usec;
}

char *journal_reader_field(const JournalReader *reader, const char *name)
{
	const void *data;
	const char *value;
	size_t length;

	if (sd_journal_get_data(reader->journal, name, &data, &length) < 0)
		return NULL;

	/* "NAME=value", not ended by NUL. */
	value = memchr(data, '=', length);
	return value ? g_strndup(value + 1, length - (size_t)(value + 1 - (const char *)data))
		     : NULL;
}
