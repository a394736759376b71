/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/snapshots/root-sets.h"
#include "cli/snapshots/subvolume-trees.h"
#include "cli/terminal/progress-line.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ExtentHolders - which subvolumes hold each data extent of a btrfs, from one walk of the extent
 * tree.
 *
 * An extent has two kinds of references.  One names the leaf that shows it, and who holds that leaf
 * the trees tell.  The other names a subvolume, an inode and an offset, and means the leaves which
 * that subvolume holds as their owner and which show the extent there: others may hold these, too.
 * Mostly one leaf has all keys in question.  Where several do, the items are looked up in the
 * subvolume's tree.
 *
 * Needs CAP_SYS_ADMIN.  Thread: any, one at a time.
 */
typedef struct {
	GArray *bytes; /* uint64_t: on the disk, of the extents that each set holds, by its number */
	uint64_t n_extents;
	/*
	 * References of which the leaf was not found, as the filesystem changed meanwhile; and those that were counted for
	 * several leaves with different holders, as looking them all up would take too long, or the subvolume is being
	 * deleted.
	 */
	uint64_t n_unsure;
} ExtentHolders;

/* @fd is any file or directory of the filesystem.  @trees and @sets are those of its subvolumes. */
bool extent_holders_read(int fd, const SubvolumeTrees *trees, RootSets *sets,
			 ProgressLine *progress, ExtentHolders *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void extent_holders_clear(ExtentHolders *holders);
