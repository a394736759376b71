/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"
#include "kernel-ioctl/btrfs/btrfs-space.h"

/*
 * SpaceLedger - what a btrfs itself counts, before and after a pass shared what it could, beside what the
 * pass says that it freed.
 *
 * The two can be held against each other when nobody else wrote meanwhile.  Whoever writes,
 * truncates, removes or makes a file changes an inode, its own or its directory's, and the change
 * time of that; sharing changes inodes, too, but not their times.  Not seen are the last close of a
 * file that was removed before, and who moves or shares data without changing it, such as another
 * deduplicator: these make the pass look as if it had miscounted.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	uint64_t
		generation; /* changes from now on are those of this transaction or of later ones */
	int64_t begun_nsec; /* the wall clock */
	bool is_deleting;   /* a deleted subvolume was being given back */
	BtrfsSpace before;
} SpaceLedger;

/* Begin with a filesystem that @info tells of, and write out what others wrote so far. */
bool space_ledger_begin(Pass *pass, const BtrfsInfo *info, SpaceLedger *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * End: after the transaction in which space is given back is committed, fill in what the result says
 * of the filesystem's own counts.  Where nothing was shared these are as they were.
 */
bool space_ledger_end(Pass *pass, const SpaceLedger *ledger, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
