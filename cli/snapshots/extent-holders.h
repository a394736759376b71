/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/snapshots/root-sets.h"
#include "cli/snapshots/subvolume-trees.h"
#include "cli/terminal/progress-line.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ExtentHolders - finds the subvolumes that hold each data extent of a btrfs filesystem, by one walk of the
 * extent tree.
 *
 * An extent has two kinds of references.  One names the leaf that references the extent.  The trees tell who
 * holds that leaf.  The other names a subvolume, an inode and an offset.  It means the leaves that the
 * subvolume holds as their owner and that reference the extent there; other subvolumes may hold these leaves,
 * too.  Mostly one leaf has all keys in question.  If several do, the items are looked up in the subvolume's
 * tree.
 *
 * Needs CAP_SYS_ADMIN.  Thread: any, one at a time.
 */
typedef struct {
	GArray *bytes; /* uint64_t: bytes on the disk of the extents that each set holds, indexed by set */
	uint64_t n_extents;
	/*
	 * References whose leaf was not found, since the filesystem changed meanwhile.  It also counts
	 * references that were counted for several leaves with different holders: looking all of these up would
	 * take too long, or the subvolume is being deleted.
	 */
	uint64_t n_unsure;
} ExtentHolders;

/* @fd is any file or directory of the filesystem.  @trees and @sets belong to its subvolumes. */
bool extent_holders_read(int fd, const SubvolumeTrees *trees, RootSets *sets,
			 ProgressLine *progress, ExtentHolders *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void extent_holders_clear(ExtentHolders *holders);
