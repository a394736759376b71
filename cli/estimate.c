/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate.h"

#include "cli/estimate-blocks.h"
#include "cli/estimate-coverage.h"
#include "cli/estimate-extents.h"
#include "cli/estimate-files.h"
#include "cli/estimate-sequence.h"
#include "cli/estimate-survey.h"
#include "daemon/anchor-shape.h"

#include <unistd.h>

const uint64_t estimate_block_bytes[ESTIMATE_BLOCK_SIZES] = { 4096, 16384, 65536, 131072, 1048576 };
const uint32_t estimate_windows[ESTIMATE_WINDOWS] = { 4, 8, 16, 32, 64 };
const uint32_t estimate_samplings[ESTIMATE_SAMPLINGS] = { 1, 4, 16 };

bool estimate_is_by_checksums(const EstimateTask *task)
{
	return task->identity.kind == FS_KIND_BTRFS && geteuid() == 0;
}

/* All that an estimate is made with. */
typedef struct {
	const EstimateTask *task;
	Estimate *result;
	EstimateExtents *extents; /* NULL: each block is freed by itself */
	EstimateFiles *files;
	EstimateBlocks *blocks;
	EstimateSequence *sequence; /* NULL: a sample is taken */
	EstimateSurvey *survey;
	EstimateCoverage *coverage;
} Work;

static void work_clear(Work *work)
{
	g_clear_pointer(&work->survey, estimate_survey_free);
	g_clear_pointer(&work->files, estimate_files_free);
	g_clear_pointer(&work->blocks, estimate_blocks_free);
	g_clear_pointer(&work->sequence, estimate_sequence_free);
	g_clear_pointer(&work->extents, estimate_extents_free);
	g_clear_pointer(&work->coverage, estimate_coverage_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Work, work_clear)

static void choose_window(Estimate *result)
{
	AnchorShape shape = anchor_shape(result->by_checksums);

	result->anchor_blocks = shape.blocks;
	for (unsigned i = 0; i < ESTIMATE_WINDOWS; i++)
		if (estimate_windows[i] == shape.window)
			result->usual_window = i;
}

static bool prepare(Work *work, Throttle *throttle, GError **error)
{
	const EstimateTask *task = work->task;
	Estimate *result = work->result;

	if (result->by_checksums) {
		work->extents = estimate_extents_new(task, error);
		if (!work->extents)
			return false;
	}
	work->files = estimate_files_list(task, work->extents, result, error);
	if (!work->files || (work->extents && !estimate_extents_rank(work->extents, error)))
		return false;

	work->blocks = estimate_blocks_new(task);
	if (task->fraction >= 1) {
		work->sequence = estimate_sequence_new(task, result->anchor_blocks,
						       result->usual_window, error);
		if (!work->sequence)
			return false;
	}
	work->survey =
		estimate_survey_new(task, throttle, work->blocks, work->sequence, result, error);
	return work->survey;
}

static bool look_at_files(Work *work, GError **error)
{
	int64_t began_usec = g_get_monotonic_time();

	while (!atomic_load(work->task->stop)) {
		g_autoptr(NamedFile) file = NULL;

		if (!estimate_files_next(work->files, &file, error))
			return false;
		if (!file)
			break;
		if (!estimate_survey_look(work->survey, file, error))
			return false;
	}

	work->result->usec = g_get_monotonic_time() - began_usec;
	return true;
}

/*
 * A sample seldom has all of a large file, so of files it has no bound but what it saw, and that they equal
 * others at most as their blocks do.
 */
static Bounded bound_files(const SampleFrame *frame, const SampleCount *count,
			   const Estimate *result)
{
	uint64_t high = MIN(result->blocks[0].high + result->zeros.high, frame->total_bytes);
	double guess = (double)count->saved_bytes / frame->fraction;

	if (frame->fraction >= 1)
		return bounded_exactly(count->saved_bytes);
	return (Bounded){ (uint64_t)MIN(guess, (double)high), count->saved_bytes, high };
}

static bool count_blocks(Work *work, GError **error)
{
	SampleFrame frame = estimate_survey_frame(work->survey);
	SampleCount counts[ESTIMATE_BLOCK_COUNTS];
	Estimate *result = work->result;

	if (!estimate_blocks_count(work->blocks, counts, error))
		return false;

	result->zeros = sample_total(&frame, estimate_survey_zeros_bytes(work->survey));
	for (size_t i = 0; i < ESTIMATE_BLOCK_SIZES; i++)
		result->blocks[i] = sample_savings(&frame, &counts[i]);
	result->identical = bound_files(&frame, &counts[ESTIMATE_BLOCK_SIZES], result);
	return true;
}

static bool take_run(const SequenceRun *run, void *data, GError **error)
{
	Work *work = data;

	return work->extents ? estimate_extents_add(work->extents, run, error)
			     : estimate_coverage_add(work->coverage, run, error);
}

static bool count_runs(Work *work, GError **error)
{
	Estimate *result = work->result;
	CoverResult found = { 0 };
	unsigned usual = result->usual_window;

	estimate_sequence_count(work->sequence, result->n_anchors);
	if (work->extents)
		estimate_extents_begin(work->extents, work->sequence);
	else
		work->coverage = estimate_coverage_new(work->task);
	if (!estimate_sequence_match(work->sequence, take_run, work, error))
		return false;
	if (work->extents ? !estimate_extents_count(work->extents, usual, &found, error)
			  : !estimate_coverage_count(work->coverage, usual, found.freed_bytes,
						     &found.n_runs, error))
		return false;

	result->n_runs = found.n_runs;
	result->deferred_bytes = found.deferred_bytes;
	result->deferred_written_bytes = found.deferred_written_bytes;
	for (size_t i = 0; i < ESTIMATE_WAYS; i++)
		result->ways[i] = bounded_exactly(
			work->extents ? found.freed_bytes[i]
				      : found.freed_bytes[i] * work->task->identity.block_bytes);
	return true;
}

/* The smallest fixed block of which an equal one is found for certain; -1: none is large enough. */
static int certain_block(const EstimateTask *task, uint32_t anchor_blocks, uint32_t window)
{
	uint64_t bytes = (uint64_t)(anchor_blocks + window - 1) * task->identity.block_bytes;

	for (int i = 0; i < ESTIMATE_BLOCK_SIZES; i++)
		if (estimate_block_bytes[i] >= bytes)
			return i;
	return -1;
}

/*
 * Runs are made of equal blocks, so they free no more than the smallest fixed ones, and zeros; and no less
 * than those which are found for certain, if these are not broken by zeros.
 */
static void bound_runs(Work *work)
{
	Estimate *result = work->result;
	uint64_t zeros = result->zeros.high;

	for (unsigned i = 0; i < ESTIMATE_WAYS; i++) {
		int certain = i < ESTIMATE_WINDOWS
				      ? certain_block(work->task, result->anchor_blocks,
						      estimate_windows[i])
				      : -1;
		uint64_t low = certain >= 0 ? result->blocks[certain].low : 0;

		result->ways[i] = (Bounded){
			.bytes = result->blocks[0].bytes,
			.low = low - MIN(low, zeros),
			.high = MIN(result->blocks[0].high + zeros, result->data_bytes),
		};
		result->n_anchors[i] =
			2 * (result->data_bytes - MIN(result->zeros.bytes, result->data_bytes)) /
			work->task->identity.block_bytes /
			((i < ESTIMATE_WINDOWS ? estimate_windows[i]
					       : estimate_windows[result->usual_window]) +
			 1);
		if (i >= ESTIMATE_WINDOWS)
			result->n_anchors[i] /= estimate_samplings[i - ESTIMATE_WINDOWS + 1];
	}
}

void estimate_clear(Estimate *estimate)
{
	g_clear_pointer(&estimate->unreadable, g_free);
}

void estimate_add_unreadable(Estimate *estimate, const char *why)
{
	estimate->n_unreadable++;
	if (!estimate->unreadable)
		estimate->unreadable = g_strdup(why);
}

bool estimate_make(const EstimateTask *task, Throttle *throttle, Estimate *ret, GError **error)
{
	g_auto(Work) work = { .task = task, .result = ret };

	*ret = (Estimate){ .fraction = task->fraction,
			   .by_checksums = estimate_is_by_checksums(task) };
	choose_window(ret);
	if (!prepare(&work, throttle, error) || !look_at_files(&work, error))
		return false;
	if (atomic_load(task->stop))
		return true;
	if (!estimate_survey_end(work.survey, error) || !count_blocks(&work, error))
		return false;
	if (work.sequence)
		return count_runs(&work, error);

	bound_runs(&work);
	return true;
}
