/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/extent-refs.h"
#include "daemon/context/read-only-subvolumes.h"

/*
 * RefGroups - the references to an extent, in groups of the same inode and offset: a subvolume and its snapshots.
 * One of each group mostly tells what the others reference.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	BtrfsRef ref;
	bool is_read_only; /* its subvolume is */
} GroupedRef;

/* Fill @groups (GroupedRef) with the result of extent_refs_find(); in each group the writable ones come first. */
void ref_groups_fill(GArray *groups, const ExtentRefs *refs, ReadOnlySubvolumes *subvolumes);

const GroupedRef *ref_groups_at(const GArray *groups, guint i);

/* The end of the group that begins at @begin. */
guint ref_groups_end(const GArray *groups, guint begin);
