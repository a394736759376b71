/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/filesystem.h"
#include "daemon/round.h"

/*
 * FullGroups - allocation groups of an XFS that had no room for the metadata of sharing.
 *
 * The references to a block are counted in its own group, so sharing with it may fail for want of space
 * while others have plenty (ENOSPC).  What lies in such a group is no source for the rest of the pass.
 *
 * Thread: the filesystem's worker.
 */
typedef struct FullGroups FullGroups;

/* On other filesystems, and where the geometry cannot be read, no group is ever full. */
FullGroups *full_groups_new(const Filesystem *filesystem);
void full_groups_free(FullGroups *groups);

/*
 * The kernel had no room to share all of the round's blocks [@first, @end): note whose group that is.
 * False: it cannot be told.
 */
bool full_groups_add(FullGroups *groups, Round *round, size_t first, size_t end);

/*
 * Leave alone what of the round is still to be shared with blocks in full groups: it is unusable.
 * Returns the bytes.
 */
uint64_t full_groups_leave(const FullGroups *groups, Round *round);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FullGroups, full_groups_free)
