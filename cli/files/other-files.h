/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/files/btrfs-paths.h"
#include "cli/files/file-report.h"
#include "cli/files/span-measure.h"

/*
 * OtherFiles - which other files share data of a file of a btrfs, or equal it, and how many bytes.
 *
 * For each extent of the file they are met, in any order, and then counted.
 *
 * Memory: 32 bytes for each of 65536 files, and 40 for each place that is met of one extent.
 * Thread: main.
 */
typedef struct OtherFiles OtherFiles;

OtherFiles *other_files_new(void);
void other_files_free(OtherFiles *files);

/* Begin with another file. */
void other_files_clear(OtherFiles *files);

/* A file shows the bytes from @position to @end of the extent, or of one that equals it. */
void other_files_meet(OtherFiles *files, uint64_t root, uint64_t inode, OtherRelation relation,
		      uint64_t position, uint64_t end);

/* No more are met of this extent.  @own is what the file itself shows of it: that is counted, once for each other file. */
void other_files_count(OtherFiles *files, const SpanMeasure *own);

/* List them in @report: those first that share, and those with most bytes. */
void other_files_report(const OtherFiles *files, BtrfsPaths *paths, FileReport *report);
