/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/plan/extent-queue.h"
#include "daemon/btrfs/share/step-pool.h"

/*
 * StepBatch - shares steps of queued targets ahead of their turn: each together with all that continues it, and
 * several at a time.
 *
 * A step that is shared is done.  If several were shared together and that fails, they are tried alone in the turns of
 * their targets, which tells the target to blame.  The result of a step that was tried alone is kept for that turn.
 * Nothing is shared ahead once data with equal checksums differed.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	Pass *pass;
	ExtentFiles *files;
	ExtentQueue *queue;
	StepSharer *sharer;
	StepPool *pool;
	GPtrArray *results; /* SharedStep, owned: those that ExtentStep.result borrows */
} StepBatch;

/*
 * Share steps of the first @n_targets, except those that need a copy.  As long as little was compared, only joined
 * ones of the first target.  Returns the number of targets whose turn may come now, at least 1.
 */
guint step_batch_share(const StepBatch *batch, guint n_targets);

/* Share the first joined steps of the first target, which has its @copy.  Returns whether any of the copy is used. */
bool step_batch_share_first(const StepBatch *batch, const ExtentCopy *copy);
