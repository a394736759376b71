/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-queue.h"
#include "daemon/btrfs/share/step-pool.h"

/*
 * StepBatch - shares steps of queued targets ahead of their turn: each together with all that continues it, and
 * several at a time.
 *
 * A step that is shared is done.  One that fails is tried alone in the turn of its target, which tells the target to
 * blame.  Nothing is shared ahead once data with equal checksums differed.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	Pass *pass;
	ExtentFiles *files;
	ExtentQueue *queue;
	StepSharer *sharer;
	StepPool *pool;
} StepBatch;

/*
 * Share steps of the first @n_targets, except those that need a copy.  Returns the number of targets whose turn may
 * come now, at least 1.
 */
guint step_batch_share(const StepBatch *batch, guint n_targets);

/* Share the steps of the first target, which has its @copy.  Returns whether any part of the copy is used now. */
bool step_batch_share_first(const StepBatch *batch, const ExtentCopy *copy);
