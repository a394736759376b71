/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/address-set.h"
#include "cli/estimate/estimate-result.h"

/*
 * EstimateSnapshots - the read-only snapshots that an estimate does not walk, since nearly all that they show is in
 * what they were taken from, or in an older snapshot of it.
 *
 * Their trees are searched instead (BTRFS_IOC_TREE_SEARCH_V2) for files that show a block which was not met elsewhere.
 * Of a snapshot with an older relative only those leaves are searched that were written since that was made.
 *
 * Thread: main.
 */
typedef struct EstimateSnapshots EstimateSnapshots;

/* The estimate finds equal data by checksums.  @met are blocks that it looked at; borrowed. */
EstimateSnapshots *estimate_snapshots_new(const EstimateTask *task, const AddressSet *met,
					  GError **error);
void estimate_snapshots_free(EstimateSnapshots *snapshots);

/*
 * Whether the subvolume @id, whose directory lies at @path, is one that need not be walked.  It is searched then;
 * @root_bytes of the path are where the walk began.
 */
bool estimate_snapshots_take(EstimateSnapshots *snapshots, uint64_t id, const char *path,
			     size_t root_bytes);

/* A file of a snapshot that has to be looked at. */
typedef struct {
	const char *snapshot; /* path */
	size_t root_bytes;    /* of it */
	uint64_t subvolume;
	uint64_t inode;
} SnapshotFile;

/*
 * The next file that shows a block not met so far, which the caller adds to @met before the next call, or leaves out;
 * NULL at the end.  Nothing can be taken any more after the first call.
 */
bool estimate_snapshots_next(EstimateSnapshots *snapshots, const SnapshotFile **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EstimateSnapshots, estimate_snapshots_free)
