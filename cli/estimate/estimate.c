/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate.h"

#include "cli/estimate/estimate-blocks.h"
#include "cli/estimate/estimate-files.h"
#include "cli/estimate/estimate-forecast.h"
#include "cli/estimate/estimate-pass.h"
#include "cli/estimate/estimate-survey.h"
#include "common/content/anchor-shape.h"

#include <unistd.h>

/* All that an estimate is made with. */
typedef struct {
	const EstimateTask *task;
	Estimate *result;
	AddressSet *met;
	EstimateFiles *files;
	EstimateBlocks *blocks;
	EstimateSurvey *survey;
} Work;

static void work_clear(Work *work)
{
	g_clear_pointer(&work->survey, estimate_survey_free);
	g_clear_pointer(&work->files, estimate_files_free);
	g_clear_pointer(&work->blocks, estimate_blocks_free);
	g_clear_pointer(&work->met, address_set_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Work, work_clear)

static bool prepare(Work *work, GError **error)
{
	const EstimateTask *task = work->task;

	work->met = address_set_new(task->directory, task->identity.block_bytes, error);
	if (!work->met)
		return false;
	work->files = estimate_files_list(task, work->met, work->result, error);
	if (!work->files)
		return false;

	work->blocks = estimate_blocks_new(task);
	work->survey = estimate_survey_new(task, work->blocks, work->met, work->result, error);
	return work->survey;
}

static bool look_at_files(Work *work, GError **error)
{
	int64_t began_usec = g_get_monotonic_time();

	while (estimate_goes_on(work->task)) {
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
 * A sample seldom has all of a large file.  The lower bound is therefore what the sample saw.  The
 * upper bound is that of equal blocks.
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

/* The smallest fixed block of which an equal one is found for certain; -1: none is large enough. */
static int certain_block(const EstimateTask *task, const AnchorShape *shape)
{
	uint64_t bytes = (uint64_t)(shape->blocks + shape->window - 1) * task->identity.block_bytes;

	for (int i = 0; i < ESTIMATE_BLOCK_SIZES; i++)
		if (estimate_block_bytes[i] >= bytes)
			return i;
	return -1;
}

/*
 * A pass shares equal blocks, so it frees no more than the smallest fixed ones, and zeros.  It
 * frees no less than the blocks that are found for certain, if zeros do not break them.
 */
static void bound_pass(Work *work)
{
	Estimate *result = work->result;
	AnchorShape shape = anchor_shape(false);
	int certain = certain_block(work->task, &shape);
	uint64_t low = certain >= 0 ? result->blocks[certain].low : 0;
	uint64_t zeros = result->zeros.high;
	uint64_t most = MIN(result->blocks[0].high + zeros, result->data_bytes);

	result->pass = (Bounded){
		.bytes = MIN(result->blocks[0].bytes, most),
		.low = low - MIN(low, zeros),
		.high = most,
	};
	result->store_bytes = estimate_store_bytes(
		2 * (result->data_bytes - MIN(result->zeros.bytes, result->data_bytes)) /
			work->task->identity.block_bytes / (shape.window + 1),
		result->n_files);
}

bool estimate_make(const EstimateTask *task, Estimate *ret, GError **error)
{
	g_auto(Work) work = { .task = task, .result = ret };

	*ret = (Estimate){ .fraction = task->fraction,
			   .by_checksums = estimate_is_by_checksums(task) };
	if (!prepare(&work, error) || !look_at_files(&work, error))
		return false;
	if (atomic_load(task->stop))
		return true;
	if (!estimate_survey_end(work.survey, error) || !count_blocks(&work, error))
		return false;
	if (task->fraction >= 1)
		return estimate_pass_make(task, ret, error);

	bound_pass(&work);
	return true;
}
