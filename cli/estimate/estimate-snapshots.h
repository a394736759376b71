/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/address-set.h"
#include "cli/estimate/estimate-result.h"

/*
 * EstimateSnapshots - the read-only snapshots that an estimate does not walk, since nearly all of their data is
 * also in their source subvolume or in an older snapshot of it.
 *
 * Their trees are searched instead (BTRFS_IOC_TREE_SEARCH_V2) for files with a block that was not met
 * elsewhere.  If a snapshot has an older relative, only leaves written since that relative was made are
 * searched.
 *
 * Thread: main.
 */
typedef struct EstimateSnapshots EstimateSnapshots;

/* The estimate finds equal data by checksums.  @met are the blocks that it examined; borrowed. */
EstimateSnapshots *estimate_snapshots_new(const EstimateTask *task, const AddressSet *met,
					  GError **error);
void estimate_snapshots_free(EstimateSnapshots *snapshots);

/*
 * Whether the subvolume @id, whose directory lies at @path, need not be walked.  If so, it is searched.  The
 * walk began at the first @root_bytes of the path.
 */
bool estimate_snapshots_take(EstimateSnapshots *snapshots, uint64_t id, const char *path,
			     size_t root_bytes);

/* A file of a snapshot that has to be examined. */
typedef struct {
	const char *snapshot; /* path */
	size_t root_bytes;    /* of it */
	uint64_t subvolume;
	uint64_t inode;
} SnapshotFile;

/*
 * The next file with a block that was not met so far; NULL at the end.  The caller adds its blocks to @met
 * before the next call, or leaves the file out.  Nothing can be taken after the first call.
 */
bool estimate_snapshots_next(EstimateSnapshots *snapshots, const SnapshotFile **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EstimateSnapshots, estimate_snapshots_free)
