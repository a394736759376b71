/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-copy.h"
#include "daemon/btrfs/plan/extent-queue.h"

/*
 * TargetCopy - the copy of the target that is shared at the moment, and what of the pass's account (RemainderAccount)
 * it takes.
 *
 * A copy stays where something was shared with it, even if the target is not freed after all.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	ExtentCopy *copy; /* NULL: it needs none */
	bool is_kept;     /* something was shared with it */
	bool is_for_deferred;
} TargetCopy;

/*
 * Make the copy that @planned needs, if it does; false, with the reason, if it cannot be made.  *ret_blamed: as for
 * extent_copy_new().
 */
bool target_copy_make(TargetCopy *target, Pass *pass, ExtentFiles *files,
		      const PlannedTarget *planned, SkipReason *ret_reason,
		      const ExtentRef **ret_blamed);

/* The target is done with, or is planned for anew: of its copy that stays which something was shared with. */
void target_copy_drop(TargetCopy *target, Pass *pass);

/* Give back what @planned still claims, less what its copy takes if that stays. */
void target_copy_give_back(const TargetCopy *target, Pass *pass, PlannedTarget *planned);
