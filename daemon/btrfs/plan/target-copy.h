/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-copy.h"
#include "daemon/btrfs/plan/extent-queue.h"

/*
 * TargetCopy - the copy for the present target, and its part of the pass's RemainderAccount.
 *
 * A copy that something was shared with stays, even if the target is not freed.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	ExtentCopy *copy; /* NULL: it needs none */
	bool is_kept;     /* something was shared with it */
	bool is_for_deferred;
} TargetCopy;

typedef enum {
	COPY_MADE,    /* or none is needed */
	COPY_FAILED,  /* the target has to be skipped; a stopped pass tells nothing about it */
	COPY_DOUBTED, /* ranges of the target have equal sums and differ: it may be planned again */
} CopyOutcome;

/* Make the copy that @planned needs, if any; *ret_failure: with COPY_FAILED. */
bool target_copy_make(TargetCopy *target, Pass *pass, ExtentFiles *files,
		      const PlannedTarget *planned, CopyOutcome *ret, CopyFailure *ret_failure,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The target is done, or planned anew: free its copy.  The shared part of the copy stays. */
void target_copy_drop(TargetCopy *target, Pass *pass);

/* Give back the room that @planned claims, less the space of a copy that stays. */
void target_copy_give_back(const TargetCopy *target, Pass *pass, PlannedTarget *planned);
