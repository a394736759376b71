/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/filesystem.h"
#include "daemon/share/dedupe-window.h"

/*
 * FullAllocGroups - where an XFS filesystem had no room to share in this pass: allocation groups, and owners whose
 * quota is used up.
 *
 * XFS counts the references to a block in the block's own group.  So sharing with it may fail with ENOSPC while
 * other groups have plenty of space.  Blocks in such a group are no sources for the rest of the pass.
 *
 * Sharing may add extents to the target.  The kernel refuses it if the target's owner may have no further block:
 * with EDQUOT for a user or a group, and with ENOSPC for a project.  So a group counts as full only for targets of
 * the same project, and after EDQUOT the pass tries no further target of that owner.  Otherwise one user with a
 * full quota would keep all others from being shared.
 *
 * Thread: as Pass.
 */
typedef struct FullAllocGroups FullAllocGroups;

/* On other filesystems, and if the geometry cannot be read, no group is ever full. */
FullAllocGroups *full_alloc_groups_new(const Filesystem *filesystem);
void full_alloc_groups_free(FullAllocGroups *groups);

/*
 * The kernel refused to share all of the window's blocks [@first, @end) with @error, ENOSPC or EDQUOT: note the
 * group or the owner.  The window is mapped again, so that it shows what was shared before.  False: it is another
 * error, or the cause cannot be found out.
 */
bool full_alloc_groups_add(FullAllocGroups *groups, DedupeWindow *window, size_t first, size_t end,
			   int error);

/* Mark the blocks that the kernel would refuse for one of these reasons as unusable.  Returns their bytes. */
uint64_t full_alloc_groups_leave(const FullAllocGroups *groups, DedupeWindow *window);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FullAllocGroups, full_alloc_groups_free)
