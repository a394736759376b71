/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"
#include "kernel-ioctl/btrfs/btrfs-space.h"

/*
 * SpaceCount - the filesystem's own count of space, before and after a pass that finds by reading.  A pass
 * by checksums has a SpaceLedger.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	BtrfsSpace before; /* of a btrfs */
} SpaceCount;

/* Read the count before the pass.  The result has it as the one after the pass, too. */
bool space_count_begin(Pass *pass, SpaceCount *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Read it again, and fill in what metadata took. */
bool space_count_end(Pass *pass, const SpaceCount *count, GError **error) G_GNUC_WARN_UNUSED_RESULT;
