/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * JournalReader - reads dedupd's messages from the journal: those of its units, and systemd's about these
 * units.
 *
 * Thread: main.
 */
typedef struct JournalReader JournalReader;

/* Open the system's journal, or the one in @directory.  NULL without @error: there is no readable journal. */
JournalReader *journal_reader_open(const char *directory, GError **error);
void journal_reader_close(JournalReader *reader);

/*
 * Select the messages of filesystems with these UUIDs or mount points (char *).  If both are empty, select all
 * messages, also those of no filesystem.  Call it once, before the functions below.
 */
bool journal_reader_select(JournalReader *reader, const GPtrArray *uuids,
			   const GPtrArray *mount_points, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Start at the last @n messages (0: at the first), without those before @since_usec (since 1970). */
bool journal_reader_seek(JournalReader *reader, uint64_t n, int64_t since_usec, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Go to the next message.  *ret_there is false if there is none yet. */
bool journal_reader_next(JournalReader *reader, bool *ret_there, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Wait until there may be another message. */
bool journal_reader_wait(JournalReader *reader, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * When the current message was written, since 1970.  The second function returns a field of it as raw bytes
 * without NUL; NULL: the message does not have it.
 */
int64_t journal_reader_time(const JournalReader *reader);
char *journal_reader_field(const JournalReader *reader, const char *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(JournalReader, journal_reader_close)
