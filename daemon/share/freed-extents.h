/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"
#include "daemon/share/block-set.h"
#include "daemon/share/open-object.h"

/*
 * FreedExtents - the extents that btrfs frees when a file is shared onto: the file referenced them before, and no
 * file does afterwards.
 *
 * Needs CAP_SYS_ADMIN.  Memory: 32 bytes for each extent of one file.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct FreedExtents FreedExtents;

/* @pass is borrowed. */
FreedExtents *freed_extents_new(const Pass *pass);
void freed_extents_free(FreedExtents *extents);

/* Note which extents the file references. */
void freed_extents_begin(FreedExtents *extents, const OpenObject *file);

/*
 * The bytes of those that are gone since; 0 for extents about which this cannot be found out, or if the pass is
 * stopped.
 */
uint64_t freed_extents_end(FreedExtents *extents);

/*
 * The same in a dry run, for @file as if its blocks in @shared were shared.  An extent counts when the last file
 * that references it is given.  Each one that waits for others takes 32 bytes.
 */
uint64_t freed_extents_estimate(FreedExtents *extents, const OpenObject *file,
				const BlockSet *shared);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FreedExtents, freed_extents_free)
