/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/estimate/address-set.h"
#include "cli/estimate/estimate-result.h"

/*
 * EstimateFiles - the files that a pass would examine, each inode once, in the order of their data on the disk.
 * If equal data is found by checksums, read-only snapshots come last.  Only their files with a block that was
 * not met before are listed (EstimateSnapshots).
 *
 * Thread: main.
 */
typedef struct EstimateFiles EstimateFiles;

/*
 * List the files of @task.  @ret counts excluded files by reason.  The caller must add the blocks of returned
 * files to @met.
 */
EstimateFiles *estimate_files_list(const EstimateTask *task, const AddressSet *met, Estimate *ret,
				   GError **error);
void estimate_files_free(EstimateFiles *files);

/* The next file, to be closed; NULL at the end.  Files that were deleted meanwhile are skipped. */
bool estimate_files_next(EstimateFiles *files, NamedFile **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EstimateFiles, estimate_files_free)
