/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/share/step-batch.h"

#include "daemon/btrfs/plan/checksum-trust.h"
#include "daemon/btrfs/plan/extent-outcome.h"

/* Each holds two files open at most. */
#define BATCH_STEPS 256

typedef struct {
	StepJob job;
	bool is_put; /* its files opened */
	FetchedAhead target;
	FetchedAhead source;
} BatchStep;

static bool open_files(const StepBatch *batch, const ExtentCopy *copy, BatchStep *at)
{
	const ExtentStep *step = &at->job.step;
	StepFiles *files = &at->job.files;

	at->target = extent_files_hold(batch->files, &step->target, &files->to);
	if (step->from == STEP_FROM_PLACE)
		at->source = extent_files_hold(batch->files, &step->source, &files->from);
	else if (step->from == STEP_FROM_COPY)
		files->from = extent_copy_reader(copy);

	return files->to && (files->from || step->from == STEP_FROM_HOLE);
}

/* Put the result on record. */
static void note(const StepBatch *batch, const StepJob *job)
{
	const SharedStep *shared = &job->shared;
	uint64_t done = extent_queue_set_done(batch->queue, &job->step, shared->done);

	step_sharer_note(batch->sharer, &job->step, shared);
	if (shared->outcome == DEDUPE_DIFFERS)
		batch->pass->result->wasted_bytes +=
			step_compared_bytes(&job->step, shared->length);
	extent_outcome_note_shared(batch->pass, done, done > 0);
}

/* Returns whether any part of @copy is used now. */
static bool share_all(const StepBatch *batch, const ExtentCopy *copy, const GArray *steps)
{
	g_autofree BatchStep *all = g_new0(BatchStep, steps->len);
	bool is_used = false;

	for (guint i = 0; i < steps->len && pass_checkpoint(batch->pass); i++) {
		all[i].job.step = g_array_index(steps, ExtentStep, i);
		all[i].is_put = open_files(batch, copy, &all[i]);
		if (all[i].is_put)
			step_pool_put(batch->pool, &all[i].job);
	}
	step_pool_wait(batch->pool);

	for (guint i = 0; i < steps->len; i++) {
		if (all[i].is_put) {
			note(batch, &all[i].job);
			is_used |= all[i].job.step.from == STEP_FROM_COPY &&
				   all[i].job.shared.done > 0;
		}
		extent_files_release(batch->files, &all[i].target);
		extent_files_release(batch->files, &all[i].source);
	}

	return is_used;
}

/* *ret_is_used: whether any part of @copy is used now. */
static guint share(const StepBatch *batch, const ExtentCopy *copy, guint n_targets,
		   bool *ret_is_used)
{
	g_autoptr(GArray) steps = g_array_new(false, false, sizeof(ExtentStep));
	QueueTake limits = {
		.targets = n_targets,
		.steps = BATCH_STEPS,
		.bytes = checksum_trust_batch_bytes(batch->pass),
		.window_bytes = atomic_load(&batch->pass->window_bytes),
		.has_copy = copy,
	};
	guint n;

	*ret_is_used = false;
	if (batch->pass->result->shared.differed > 0)
		return 1;

	n = extent_queue_take(batch->queue, &limits, steps);
	*ret_is_used = share_all(batch, copy, steps);
	return MAX(n, 1);
}

guint step_batch_share(const StepBatch *batch, guint n_targets)
{
	bool no_copy;

	return share(batch, NULL, checksum_trust_is_full(batch->pass) ? n_targets : 1, &no_copy);
}

bool step_batch_share_first(const StepBatch *batch, const ExtentCopy *copy)
{
	bool is_used;

	share(batch, copy, 1, &is_used);
	return is_used;
}
