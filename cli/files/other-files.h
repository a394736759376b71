/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/files/btrfs-paths.h"
#include "cli/files/file-report.h"
#include "cli/files/span-measure.h"

/*
 * OtherFiles - the other files that share data with a file on btrfs, or equal it, and how many bytes.
 *
 * For each extent of the file, first add them in any order, then count them.
 *
 * Memory: 32 bytes for each of 65536 files, and 40 bytes for each reference to one extent.  Thread: main.
 */
typedef struct OtherFiles OtherFiles;

OtherFiles *other_files_new(void);
void other_files_free(OtherFiles *files);

/* Begin with another file. */
void other_files_clear(OtherFiles *files);

/* Add a file that references the bytes from @position to @end of the extent, or of an equal one. */
void other_files_meet(OtherFiles *files, uint64_t root, uint64_t inode, OtherRelation relation,
		      uint64_t position, uint64_t end);

/*
 * Finish this extent.  @own is what the file itself references of it.  These bytes are counted once per other
 * file.
 */
void other_files_count(OtherFiles *files, const SpanMeasure *own);

/* List the files in @report: sharing files first, then by descending bytes. */
void other_files_report(const OtherFiles *files, BtrfsPaths *paths, FileReport *report);
