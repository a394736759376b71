/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/extent-refs.h"
#include "daemon/context/read-only-subvolumes.h"

/*
 * RefGroups - the references to an extent, in groups of the same inode and offset, as a subvolume and its
 * snapshots have them: one of each tells what the others show, mostly.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	BtrfsRef ref;
	bool is_read_only; /* its subvolume is */
} GroupedRef;

/* Fill @groups (GroupedRef) with what extent_refs_find() found: in each group the writable ones come first. */
void ref_groups_fill(GArray *groups, const ExtentRefs *refs, ReadOnlySubvolumes *subvolumes);

const GroupedRef *ref_groups_at(const GArray *groups, guint i);

/* The end of the group that begins at @begin. */
guint ref_groups_end(const GArray *groups, guint begin);
