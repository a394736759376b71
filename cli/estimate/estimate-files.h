/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/estimate/address-set.h"
#include "cli/estimate/estimate-result.h"

/*
 * EstimateFiles - the files that a pass would look at, each inode once, in the order in which their data
 * lies on the disk.  Where equal data is found by checksums, read-only snapshots come last, and only those of
 * their files that show a block which was not met (EstimateSnapshots).
 *
 * Thread: main.
 */
typedef struct EstimateFiles EstimateFiles;

/*
 * List the files of @task.  What keeps files out is counted in @ret; blocks of files that were given are to be added
 * to @met.
 */
EstimateFiles *estimate_files_list(const EstimateTask *task, const AddressSet *met, Estimate *ret,
				   GError **error);
void estimate_files_free(EstimateFiles *files);

/* The next one, to be closed; NULL at the end.  One that is gone meanwhile is passed over. */
bool estimate_files_next(EstimateFiles *files, NamedFile **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EstimateFiles, estimate_files_free)
