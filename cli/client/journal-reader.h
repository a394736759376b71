/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * JournalReader - the messages of dedupd in the journal: those of its units, and of systemd about these.
 *
 * Thread: main.
 */
typedef struct JournalReader JournalReader;

/* The system's journal, or that in @directory.  NULL without @error: there is none that may be read. */
JournalReader *journal_reader_open(const char *directory, GError **error);
void journal_reader_close(JournalReader *reader);

/*
 * Only those from here on that are of one of the filesystems with these UUIDs or mount points (char *);
 * empty: of any, and of none.  To be called once, before the others.
 */
bool journal_reader_select(JournalReader *reader, const GPtrArray *uuids,
			   const GPtrArray *mount_points, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Begin at the last @n messages, 0: at the first, and leave out those before @since_usec (since 1970). */
bool journal_reader_seek(JournalReader *reader, uint64_t n, int64_t since_usec, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Go to the next message; *ret_there is false if there is none, yet. */
bool journal_reader_next(JournalReader *reader, bool *ret_there, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Wait until there may be another one. */
bool journal_reader_wait(JournalReader *reader, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Of the message: when it was written, since 1970, and a field as raw bytes without NUL; NULL: it has none. */
int64_t journal_reader_time(const JournalReader *reader);
char *journal_reader_field(const JournalReader *reader, const char *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(JournalReader, journal_reader_close)
