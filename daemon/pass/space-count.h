/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"
#include "kernel-ioctl/btrfs/btrfs-space.h"

/*
 * SpaceCount - the filesystem's own count of space, before and after a pass over files.  A pass over extents has a
 * SpaceLedger.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	BtrfsSpace before; /* of btrfs */
} SpaceCount;

/* Read the count before the pass.  The result has it as the count after the pass, too, until that is known. */
bool space_count_begin(Pass *pass, SpaceCount *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Read the count again, and compute what metadata took. */
bool space_count_end(Pass *pass, const SpaceCount *count, GError **error) G_GNUC_WARN_UNUSED_RESULT;
