/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"
#include "kernel-ioctl/btrfs/btrfs-space.h"

/*
 * SpaceLedger - the space counts of a btrfs filesystem before and after a pass, to compare with the bytes that the
 * pass counts as freed.
 *
 * They can be compared if no other process wrote meanwhile.  Writing, truncating, removing or making a file changes
 * an inode, its own or its directory's, and its change time.  Deduplication changes inodes, too, but not their
 * times.  The ledger does not see the last close of a file that was removed before.  Nor does it see a process that
 * moves or shares data without changing it, such as another deduplicator.  Then the pass seems to have miscounted.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	uint64_t generation; /* changes from now on have this transaction or a later one */
	int64_t begun_nsec;  /* the wall clock */
	bool is_deleting;    /* a deleted subvolume was being given back */
	BtrfsSpace before;
} SpaceLedger;

/* Begin with the state in @info, and write out what others wrote so far. */
bool space_ledger_begin(Pass *pass, const BtrfsInfo *info, SpaceLedger *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Commit the transaction in which space is given back, then fill in the result's fields for the filesystem's own
 * counts.  If nothing was deduplicated, they stay as they were.
 */
bool space_ledger_end(Pass *pass, const SpaceLedger *ledger, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
