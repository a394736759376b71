/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/files/file-report.h"
#include "hashstore/hash-store.h"

/*
 * FileReporter - makes reports of files of one filesystem, and shows how far it is.
 *
 * It compares what the store knows with the filesystem: what changed since is stale, and equals nothing.
 *
 * Thread: main.
 */
typedef struct FileReporter FileReporter;

/* @store is borrowed, and may be NULL: there is none. */
FileReporter *file_reporter_new(HashStore *store);
void file_reporter_free(FileReporter *reporter);

/* Have who shares files of an XFS asked: of each file up to 4096 references are looked at. */
void file_reporter_ask_sharers(FileReporter *reporter);

/* Before something else is printed. */
void file_reporter_clear_progress(FileReporter *reporter);

/* Memory: 48 MiB for sorting at most, what does not fit goes to temporary files; and all pieces of one extent. */
FileReport *file_reporter_report(FileReporter *reporter, const NamedFile *file, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileReporter, file_reporter_free)
