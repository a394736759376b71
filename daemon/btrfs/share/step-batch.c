/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/share/step-batch.h"

#include "daemon/btrfs/plan/checksum-trust.h"
#include "daemon/btrfs/plan/extent-outcome.h"

/* Limit of what is fetched ahead of each. */
#define AHEAD_BYTES (UINT64_C(1) << 20)

/* Each holds two files open at most. */
#define BATCH_STEPS 256

typedef struct {
	StepJob job;
	ExtentStep *alone; /* as TakenSteps */
	bool is_put;       /* its files opened */
	FetchedAhead target;
	FetchedAhead source;
} BatchStep;

static bool open_files(const StepBatch *batch, const ExtentCopy *copy, BatchStep *at)
{
	const ExtentStep *step = &at->job.step;
	StepFiles *files = &at->job.files;

	at->job.ahead_bytes =
		MIN(checksum_trust_next_bytes(batch->pass, step->length, 0), AHEAD_BYTES);
	at->target = extent_files_hold(batch->files, &step->target, step->target_offset,
				       at->job.ahead_bytes, &files->to);
	if (step->from == STEP_FROM_PLACE)
		at->source = extent_files_hold(batch->files, &step->source, step->source_offset,
					       at->job.ahead_bytes, &files->from);
	else if (step->from == STEP_FROM_COPY)
		files->from = extent_copy_reader(copy);

	return files->to && (files->from || step->from == STEP_FROM_HOLE);
}

/* Put the result on record. */
static void note(const StepBatch *batch, const BatchStep *at)
{
	const SharedStep *shared = &at->job.shared;
	const ExtentStep *step = &at->job.step;
	uint64_t done;

	/* It is tried alone, in the turn of its target. */
	if (at->job.is_left)
		return;
	done = extent_queue_set_done(batch->queue, step, shared->done);
	step_sharer_note(batch->sharer, step, shared);
	/* That of a step alone is counted in the turn of its target. */
	if (shared->outcome == DEDUPE_DIFFERS && !at->alone)
		batch->pass->result->wasted_bytes += step_compared_bytes(step, shared->length);
	if (at->alone && done == 0) {
		SharedStep *kept = g_memdup2(shared, sizeof(*shared));

		g_ptr_array_add(batch->results, kept);
		at->alone->result = kept;
		at->alone->is_used = shared->done > 0;
		done = shared->done;
	}
	extent_outcome_note_shared(batch->pass, done, done > 0);
}

/* Share @taken (TakenSteps). */
static bool share_all(const StepBatch *batch, const ExtentCopy *copy, const GArray *taken)
{
	g_autofree BatchStep *all = g_new0(BatchStep, taken->len);
	g_autofree bool *differs = g_new0(bool, taken->len);
	bool is_used = false;

	for (guint i = 0; i < taken->len && pass_checkpoint(batch->pass); i++) {
		const TakenSteps *steps = &g_array_index(taken, TakenSteps, i);

		all[i].job.step = steps->joined;
		all[i].job.differs = steps->alone ? &differs[steps->first] : NULL;
		all[i].alone = steps->alone;
		all[i].is_put = open_files(batch, copy, &all[i]);
	}
	/* Only now, as one file may be used by several steps. */
	for (guint i = 0; i < taken->len; i++)
		if (all[i].is_put)
			step_pool_put(batch->pool, &all[i].job);
	step_pool_wait(batch->pool);

	for (guint i = 0; i < taken->len; i++) {
		if (all[i].is_put) {
			note(batch, &all[i]);
			is_used |= all[i].job.step.from == STEP_FROM_COPY &&
				   all[i].job.shared.done > 0;
		}
		extent_files_release(batch->files, &all[i].target);
		extent_files_release(batch->files, &all[i].source);
	}

	return is_used;
}

bool step_batch_share_first(const StepBatch *batch, const ExtentCopy *copy)
{
	g_autoptr(GArray) taken = g_array_new(false, false, sizeof(TakenSteps));
	TakenSteps joined;

	if (batch->pass->result->shared.differed > 0 ||
	    !extent_queue_take_joined(batch->queue, &joined))
		return false;

	g_array_append_val(taken, joined);
	return share_all(batch, copy, taken);
}

guint step_batch_share(const StepBatch *batch, guint n_targets)
{
	g_autoptr(GArray) taken = g_array_new(false, false, sizeof(TakenSteps));
	QueueTake limits = {
		.targets = n_targets,
		.steps = BATCH_STEPS,
		.bytes = checksum_trust_batch_bytes(batch->pass),
		.window_bytes = atomic_load(&batch->pass->window_bytes),
	};
	guint n;

	if (batch->pass->result->shared.differed > 0)
		return 1;
	/*
	 * Under a limit, threads would only wait for each other, and the store for its next commit.  If memory does not
	 * hold one window, it does not hold several.
	 */
	if (!checksum_trust_is_full(batch->pass) || limits.window_bytes < DEDUPE_ROUND_BYTES ||
	    throttle_is_limited(batch->pass->throttle)) {
		if (extent_queue_first(batch->queue)->parts->len == 0)
			step_batch_share_first(batch, NULL);
		return 1;
	}

	/* The first target may have more steps than a batch. */
	do {
		g_array_set_size(taken, 0);
		n = extent_queue_take(batch->queue, &limits, taken);
		share_all(batch, NULL, taken);
	} while (n == 0 && batch->pass->result->shared.differed == 0 &&
		 pass_checkpoint(batch->pass));

	return MAX(n, 1);
}
