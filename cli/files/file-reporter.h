/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/files/file-report.h"
#include "hashstore/hash-store.h"

/*
 * FileReporter - makes reports of files of one filesystem, and shows its progress.
 *
 * It compares the store with the filesystem.  Objects that changed since are stale, and equal nothing.
 *
 * Thread: main.
 */
typedef struct FileReporter FileReporter;

/* @store is borrowed, and may be NULL: there is none. */
FileReporter *file_reporter_new(HashStore *store);
void file_reporter_free(FileReporter *reporter);

/* Ask an XFS filesystem who shares each file, for up to 4096 references per file. */
void file_reporter_ask_sharers(FileReporter *reporter);

/* Call this before printing something else. */
void file_reporter_clear_progress(FileReporter *reporter);

/* Memory: at most 48 MiB for sorting (more goes to temporary files), and all pieces of one extent. */
FileReport *file_reporter_report(FileReporter *reporter, const NamedFile *file, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileReporter, file_reporter_free)
