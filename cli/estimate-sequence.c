/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate-sequence.h"

#include "cli/estimate-pairs.h"
#include "cli/mapped-array.h"
#include "daemon/winnow.h"
#include "daemon/zeros.h"

#include <xxhash.h>

/* Keeps digests of stretches apart from those of windows. */
#define STRETCH_SEED UINT64_C(0x73747265746368)

/* That of short zeros among data; no sum of data has it but by a chance of 2^-64. */
#define SUM_OF_ZEROS UINT64_C(0x7a65726f73)

/* A block may be reached by so many runs of each way, however near their sources are. */
#define NEAR_RUNS_MAX 8

/* How many runs reached a block by each way. */
typedef struct {
	uint8_t by_way[ESTIMATE_WAYS];
} Reached;

struct EstimateSequence {
	const EstimateTask *task;
	unsigned usual_window;
	uint64_t long_zeros; /* blocks */
	MappedArray *blocks; /* SequenceBlock */
	EstimatePairs *pairs;
	Sorter *holes; /* SequenceRun: zeros that become holes */
	Winnow winnows[ESTIMATE_WINDOWS];
	unsigned winnow; /* whose anchor is given */
	uint64_t n_anchors[ESTIMATE_WAYS];
	GError *failed; /* while an anchor was put */

	/* The stretch at hand. */
	XXH3_state_t *stretch;
	uint64_t stretch_start;
	uint64_t n_stretch;
	/* The zeros at hand, which end what was added. */
	uint64_t n_zeros;
	/* Of the file. */
	bool (*ask)(void *data);
	void *ask_data;
	bool asked;
	bool become_holes;
};

static int compare_runs(const void *a, const void *b)
{
	const SequenceRun *one = a, *other = b;

	return (one->target > other->target) - (one->target < other->target);
}

EstimateSequence *estimate_sequence_new(const EstimateTask *task, uint32_t anchor_blocks,
					unsigned usual_window, GError **error)
{
	g_autoptr(EstimateSequence) sequence = g_new0(EstimateSequence, 1);
	uint64_t memory_bytes = task->settings->memory_bytes;

	sequence->task = task;
	sequence->usual_window = usual_window;
	sequence->long_zeros = MAX(ZEROS_RUN_BYTES / task->identity.block_bytes, 1);
	sequence->stretch = XXH3_createState();
	XXH3_64bits_reset_withSeed(sequence->stretch, STRETCH_SEED);
	sequence->pairs = estimate_pairs_new(task);
	sequence->holes = sorter_new(sizeof(SequenceRun), compare_runs, memory_bytes / 16,
				     task->directory, task->stop);
	for (size_t i = 0; i < ESTIMATE_WINDOWS; i++)
		winnow_init(&sequence->winnows[i], anchor_blocks, estimate_windows[i]);
	sequence->blocks = mapped_array_new(task->directory, sizeof(SequenceBlock), error);
	return sequence->blocks ? g_steal_pointer(&sequence) : NULL;
}

void estimate_sequence_free(EstimateSequence *sequence)
{
	if (!sequence)
		return;

	XXH3_freeState(sequence->stretch);
	g_clear_pointer(&sequence->blocks, mapped_array_free);
	g_clear_pointer(&sequence->pairs, estimate_pairs_free);
	g_clear_pointer(&sequence->holes, sorter_free);
	g_clear_error(&sequence->failed);
	g_free(sequence);
}

/* The ways by which an anchor of the @window is found. */
static uint32_t ways_of(const EstimateSequence *sequence, unsigned window, uint64_t digest)
{
	uint32_t ways = 1U << window;

	if (window != sequence->usual_window)
		return ways;
	for (unsigned i = 1; i < ESTIMATE_SAMPLINGS; i++)
		if (digest % estimate_samplings[i] == 0)
			ways |= 1U << estimate_way_of_sampling(i, window);
	return ways;
}

static void put_anchor(EstimateSequence *sequence, uint64_t digest, uint64_t position,
		       uint32_t ways)
{
	for (unsigned i = 0; i < ESTIMATE_WAYS; i++)
		sequence->n_anchors[i] += ways >> i & 1;
	if (!sequence->failed &&
	    !estimate_pairs_add(sequence->pairs, digest, position, ways, &sequence->failed))
		g_assert(sequence->failed);
}

static void take_anchor(uint64_t digest, uint64_t position, void *data)
{
	EstimateSequence *sequence = data;

	put_anchor(sequence, digest, position, ways_of(sequence, sequence->winnow, digest));
}

static bool take_failure(EstimateSequence *sequence, GError **error)
{
	if (!sequence->failed)
		return true;

	g_propagate_error(error, g_steal_pointer(&sequence->failed));
	return false;
}

static SequenceBlock *append(EstimateSequence *sequence, uint64_t sum, uint64_t address,
			     GError **error)
{
	SequenceBlock *block = mapped_array_add(sequence->blocks, error);

	if (block)
		*block = (SequenceBlock){ sum, address };
	return block;
}

/* The position moves on by a block that makes no anchor. */
static void pass_over(EstimateSequence *sequence)
{
	for (unsigned i = 0; i < ESTIMATE_WINDOWS; i++) {
		sequence->winnow = i;
		winnow_break(&sequence->winnows[i], 1, take_anchor, sequence);
	}
}

static void end_stretch(EstimateSequence *sequence)
{
	if (sequence->n_stretch > 0)
		put_anchor(sequence, XXH3_64bits_digest(sequence->stretch), sequence->stretch_start,
			   ESTIMATE_ALL_WAYS);
	XXH3_64bits_reset_withSeed(sequence->stretch, STRETCH_SEED);
	sequence->n_stretch = 0;
}

static void add_to_stretch(EstimateSequence *sequence, uint64_t sum, uint64_t position)
{
	if (sequence->n_stretch++ == 0)
		sequence->stretch_start = position;
	XXH3_64bits_update(sequence->stretch, &sum, sizeof(sum));
}

static bool become_holes(EstimateSequence *sequence)
{
	if (!sequence->asked)
		sequence->become_holes = sequence->ask && sequence->ask(sequence->ask_data);
	sequence->asked = true;
	return sequence->become_holes;
}

/* Zeros are over: short ones are part of the stretch, long ones end it, and may be a hole. */
static bool end_zeros(EstimateSequence *sequence, GError **error)
{
	uint64_t n = sequence->n_zeros;
	uint64_t first = mapped_array_count(sequence->blocks) - n;
	SequenceBlock *blocks = mapped_array_items(sequence->blocks);
	SequenceRun hole = { first, SEQUENCE_HOLE, (uint32_t)n, ESTIMATE_ALL_WAYS };

	sequence->n_zeros = 0;
	if (n == 0)
		return true;
	if (n < sequence->long_zeros) {
		for (uint64_t i = first; i < first + n; i++)
			add_to_stretch(sequence, blocks[i].sum, i);
		return true;
	}

	for (uint64_t i = first; i < first + n; i++)
		blocks[i].sum = SEQUENCE_GAP;
	end_stretch(sequence);
	return !become_holes(sequence) || sorter_add(sequence->holes, &hole, error);
}

bool estimate_sequence_add(EstimateSequence *sequence, uint64_t sum, uint64_t address,
			   GError **error)
{
	uint64_t position = mapped_array_count(sequence->blocks);

	sum = sum == SEQUENCE_GAP ? 1 : sum;
	if (!end_zeros(sequence, error) || !append(sequence, sum, address, error))
		return false;

	add_to_stretch(sequence, sum, position);
	for (unsigned i = 0; i < ESTIMATE_WINDOWS; i++) {
		sequence->winnow = i;
		winnow_add(&sequence->winnows[i], sum, take_anchor, sequence);
	}
	return take_failure(sequence, error);
}

bool estimate_sequence_add_zeros(EstimateSequence *sequence, uint64_t address, GError **error)
{
	if (sequence->n_zeros == UINT32_MAX && !end_zeros(sequence, error))
		return false;
	if (!append(sequence, SUM_OF_ZEROS, address, error))
		return false;

	sequence->n_zeros++;
	pass_over(sequence);
	return take_failure(sequence, error);
}

bool estimate_sequence_break(EstimateSequence *sequence, GError **error)
{
	if (!end_zeros(sequence, error) || !append(sequence, SEQUENCE_GAP, 0, error))
		return false;

	pass_over(sequence);
	end_stretch(sequence);
	return take_failure(sequence, error);
}

void estimate_sequence_ask(EstimateSequence *sequence, bool (*become)(void *data), void *data)
{
	sequence->ask = become;
	sequence->ask_data = data;
	sequence->asked = false;
}

bool estimate_sequence_end_file(EstimateSequence *sequence, GError **error)
{
	bool done = estimate_sequence_break(sequence, error);

	sequence->ask = NULL;
	sequence->asked = false;
	return done;
}

void estimate_sequence_count(const EstimateSequence *sequence, uint64_t ret[ESTIMATE_WAYS])
{
	for (size_t i = 0; i < ESTIMATE_WAYS; i++)
		ret[i] = sequence->n_anchors[i];
}

const SequenceBlock *estimate_sequence_blocks(const EstimateSequence *sequence, uint64_t *ret_n)
{
	*ret_n = mapped_array_count(sequence->blocks);
	return mapped_array_items(sequence->blocks);
}

static bool take_holes(EstimateSequence *sequence, TakeRun take, void *data, GError **error)
{
	const SequenceRun *hole;

	if (!sorter_sort(sequence->holes, error))
		return false;
	while (true) {
		if (!sorter_next(sequence->holes, (const void **)&hole, error))
			return false;
		if (!hole)
			return true;
		if (!take(hole, data, error))
			return false;
	}
}

/* Blocks from the two positions on that are equal, backwards or not. */
static uint64_t count_equal(const SequenceBlock *blocks, uint64_t n_blocks, uint64_t target,
			    uint64_t source, bool backwards)
{
	uint64_t n = 0;

	/* The target comes later, so the source ends first at the beginning, and the target at the end. */
	if (backwards)
		while (n < source && blocks[source - 1 - n].sum == blocks[target - 1 - n].sum &&
		       blocks[source - 1 - n].sum != SEQUENCE_GAP)
			n++;
	else
		while (target + n < n_blocks && blocks[source + n].sum == blocks[target + n].sum &&
		       blocks[source + n].sum != SEQUENCE_GAP)
			n++;
	return n;
}

/* A Reached for each block; none yet. */
static MappedArray *reached_new(const EstimateSequence *sequence, GError **error)
{
	g_autoptr(MappedArray) reached =
		mapped_array_new(sequence->task->directory, sizeof(Reached), error);

	for (uint64_t i = 0; reached && i < mapped_array_count(sequence->blocks); i++)
		if (!mapped_array_add(reached, error))
			return NULL;
	return g_steal_pointer(&reached);
}

/*
 * What repeats itself, as a disk full of 0xFF does, equals itself on every diagonal, and would be gone over
 * once for each.  Beyond a few runs each two more have to come from twice as far, so that other files and
 * extents are seen, too, and a block is compared a number of times that grows with the logarithm alone.  The
 * nearest runs are those of the smallest window, so each way has a number of its own.
 */
static bool is_reached(const Reached *reached, const SequencePair *pair)
{
	const uint8_t *by_way = reached[pair->target].by_way;
	guint most = MAX(NEAR_RUNS_MAX, 2 * g_bit_storage(pair->diagonal));

	for (unsigned way = 0; way < ESTIMATE_WAYS; way++)
		if (pair->ways >> way & 1 && by_way[way] < most)
			return false;
	return true;
}

static void note_reached(Reached *reached, const SequenceRun *run)
{
	for (uint64_t i = run->target; i < run->target + run->n_blocks; i++)
		for (unsigned way = 0; way < ESTIMATE_WAYS; way++)
			if (run->ways >> way & 1 && reached[i].by_way[way] < UINT8_MAX)
				reached[i].by_way[way]++;
}

static SequenceRun extend(const EstimateSequence *sequence, const SequencePair *pair)
{
	uint64_t n_blocks;
	const SequenceBlock *blocks = estimate_sequence_blocks(sequence, &n_blocks);
	uint64_t source = pair->target - pair->diagonal;
	uint64_t before = count_equal(blocks, n_blocks, pair->target, source, true);
	uint64_t after = count_equal(blocks, n_blocks, pair->target, source, false);

	return (SequenceRun){ pair->target - before, source - before,
			      (uint32_t)MIN(before + after, UINT32_MAX), pair->ways };
}

bool estimate_sequence_match(EstimateSequence *sequence, TakeRun take, void *data, GError **error)
{
	g_autoptr(MappedArray) counts = reached_new(sequence, error);
	Reached *reached = counts ? mapped_array_items(counts) : NULL;
	SequenceRun run = { 0 };
	uint64_t diagonal = 0;
	SequencePair pair;
	bool is_pair;

	if (!counts || !take_holes(sequence, take, data, error) ||
	    !estimate_pairs_sort(sequence->pairs, error))
		return false;
	while (!atomic_load(sequence->task->stop)) {
		if (!estimate_pairs_next(sequence->pairs, &pair, &is_pair, error))
			return false;
		if (is_pair && run.n_blocks > 0 && pair.diagonal == diagonal &&
		    pair.target < run.target + run.n_blocks) {
			run.ways |= pair.ways;
			continue;
		}
		if (run.n_blocks > 0 && !take(&run, data, error))
			return false;
		note_reached(reached, &run);
		run.n_blocks = 0;
		if (!is_pair)
			return true;
		if (is_reached(reached, &pair))
			continue;
		diagonal = pair.diagonal;
		run = extend(sequence, &pair);
	}

	return true;
}
