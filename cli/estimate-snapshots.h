/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * EstimateSnapshots - which subvolumes of a btrfs are read-only, and which of these an estimate did not meet.
 *
 * No directory of a mount may lead to a snapshot, and it shows extents all the same.  One that was made of a
 * subvolume since an extent was allocated is taken to show the extent wherever that subvolume does.  That is true
 * unless the extent was cloned or overwritten meanwhile.
 *
 * Thread: main.
 */
typedef struct EstimateSnapshots EstimateSnapshots;

/* Needs CAP_SYS_ADMIN; @fd is any directory of the filesystem. */
EstimateSnapshots *estimate_snapshots_new(int fd, GError **error);
void estimate_snapshots_free(EstimateSnapshots *snapshots);

/* A file of the subvolume was met.  Not after estimate_snapshots_count_unmet(). */
void estimate_snapshots_meet(EstimateSnapshots *snapshots, uint64_t subvolume);

/* One that was made after the estimate began counts as writable. */
bool estimate_snapshots_is_read_only(const EstimateSnapshots *snapshots, uint64_t subvolume);

/*
 * How many read-only snapshots of @subvolume that were not met show what it shows of an extent that the transaction
 * @generation allocated.
 */
uint64_t estimate_snapshots_count_unmet(EstimateSnapshots *snapshots, uint64_t subvolume,
					uint64_t generation);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EstimateSnapshots, estimate_snapshots_free)
