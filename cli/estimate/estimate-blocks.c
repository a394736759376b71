/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-blocks.h"

#include "hashstore/anchors/sorter.h"

#include <string.h>
#include <xxhash.h>

/* The largest size is a multiple of the others. */
#define SPAN_BYTES  (UINT64_C(1) << 20)
#define SPAN_BLOCKS (SPAN_BYTES / 512)

/* The sum of zeros and holes.  It makes a sparse file and its written-out twin identical. */
#define SUM_OF_NOTHING UINT64_C(0)

typedef struct {
	uint64_t digest;
	uint32_t n_blocks;
	uint32_t class; /* index of a size, or ESTIMATE_BLOCK_SIZES: a file */
} FixedBlock;

struct EstimateBlocks {
	uint32_t block_bytes;
	Sorter *sorter;
	/* The current file. */
	XXH3_state_t *whole;
	uint64_t n_nothing;      /* zeros and holes since the last data, not yet in @whole */
	uint64_t n_taking_space; /* blocks that are data or zeros */
	bool is_known;           /* all of it, so far */
	bool has_data;
	/* The current span. */
	size_t n_span;
	uint64_t sums[SPAN_BLOCKS];
	uint8_t kinds[SPAN_BLOCKS];
};

static int compare_blocks(const void *a, const void *b)
{
	const FixedBlock *one = a, *other = b;

	if (one->class != other->class)
		return one->class < other->class ? -1 : 1;
	return (one->digest > other->digest) - (one->digest < other->digest);
}

EstimateBlocks *estimate_blocks_new(const EstimateTask *task)
{
	EstimateBlocks *blocks = g_new0(EstimateBlocks, 1);

	blocks->block_bytes = task->identity.block_bytes;
	blocks->whole = XXH3_createState();
	blocks->sorter = sorter_new(sizeof(FixedBlock), compare_blocks,
				    task->settings->memory_bytes / 4, task->directory, task->stop);
	return blocks;
}

void estimate_blocks_free(EstimateBlocks *blocks)
{
	if (!blocks)
		return;

	XXH3_freeState(blocks->whole);
	g_clear_pointer(&blocks->sorter, sorter_free);
	g_free(blocks);
}

void estimate_blocks_begin_file(EstimateBlocks *blocks)
{
	XXH3_64bits_reset(blocks->whole);
	blocks->n_nothing = 0;
	blocks->n_taking_space = 0;
	blocks->is_known = true;
	blocks->has_data = false;
	blocks->n_span = 0;
}

static bool put(EstimateBlocks *blocks, uint32_t class, uint64_t digest, uint64_t n_blocks,
		GError **error)
{
	FixedBlock block = { digest, (uint32_t)MIN(n_blocks, UINT32_MAX), class };

	return sorter_add(blocks->sorter, &block, error);
}

/* The block of blocks [@first, @end) of the span. */
static bool end_block(EstimateBlocks *blocks, uint32_t class, size_t first, size_t end,
		      GError **error)
{
	size_t counts[ESTIMATE_BLOCK_UNKNOWN + 1] = { 0 };

	for (size_t i = first; i < end; i++)
		counts[blocks->kinds[i]]++;
	if (counts[ESTIMATE_BLOCK_UNKNOWN] > 0 || counts[ESTIMATE_BLOCK_DATA] == 0)
		return true;

	return put(blocks, class,
		   XXH3_64bits(&blocks->sums[first], (end - first) * sizeof(blocks->sums[0])),
		   counts[ESTIMATE_BLOCK_DATA] + counts[ESTIMATE_BLOCK_ZEROS], error);
}

static bool end_span(EstimateBlocks *blocks, GError **error)
{
	for (uint32_t class = 0; class < ESTIMATE_BLOCK_SIZES; class ++) {
		size_t step = MAX(estimate_block_bytes[class] / blocks->block_bytes, 1);

		for (size_t i = 0; i < blocks->n_span; i += step)
			if (!end_block(blocks, class, i, MIN(i + step, blocks->n_span), error))
				return false;
	}

	blocks->n_span = 0;
	return true;
}

/*
 * Add the number of zeros and holes to the file's digest.  As a length, it takes no longer for a petabyte than
 * for a block.
 */
static void end_nothing(EstimateBlocks *blocks)
{
	const uint64_t tagged[] = { SUM_OF_NOTHING, blocks->n_nothing };

	if (blocks->n_nothing > 0)
		XXH3_64bits_update(blocks->whole, tagged, sizeof(tagged));
	blocks->n_nothing = 0;
}

/* Add blocks of @kind to the file's digest; @sum is the sum of one data block. */
static void add_to_file(EstimateBlocks *blocks, EstimateBlockKind kind, uint64_t sum,
			uint64_t n_blocks)
{
	blocks->is_known &= kind != ESTIMATE_BLOCK_UNKNOWN;
	if (kind == ESTIMATE_BLOCK_DATA || kind == ESTIMATE_BLOCK_ZEROS)
		blocks->n_taking_space += n_blocks;
	if (kind != ESTIMATE_BLOCK_DATA) {
		blocks->n_nothing += n_blocks;
		return;
	}

	end_nothing(blocks);
	XXH3_64bits_update(blocks->whole, &sum, sizeof(sum));
	blocks->has_data = true;
}

static bool add_to_span(EstimateBlocks *blocks, EstimateBlockKind kind, uint64_t sum,
			GError **error)
{
	blocks->sums[blocks->n_span] = sum;
	blocks->kinds[blocks->n_span] = (uint8_t)kind;
	blocks->n_span++;

	return blocks->n_span * blocks->block_bytes < SPAN_BYTES || end_span(blocks, error);
}

bool estimate_blocks_add(EstimateBlocks *blocks, EstimateBlockKind kind, uint64_t sum,
			 GError **error)
{
	add_to_file(blocks, kind, sum, 1);
	return add_to_span(blocks, kind, kind == ESTIMATE_BLOCK_DATA ? sum : SUM_OF_NOTHING, error);
}

bool estimate_blocks_skip(EstimateBlocks *blocks, EstimateBlockKind kind, uint64_t n_blocks,
			  GError **error)
{
	uint64_t span = SPAN_BYTES / blocks->block_bytes;
	uint64_t n_first = blocks->n_span > 0 ? MIN(n_blocks, span - blocks->n_span) : 0;
	/* Spans of @kind alone make no blocks of any size. */
	uint64_t n_listed = n_first + (n_blocks - n_first) % span;

	add_to_file(blocks, kind, 0, n_blocks);
	for (uint64_t i = 0; i < n_listed; i++)
		if (!add_to_span(blocks, kind, SUM_OF_NOTHING, error))
			return false;
	return true;
}

bool estimate_blocks_add_compressed(EstimateBlocks *blocks, uint64_t digest, uint64_t n_blocks,
				    GError **error)
{
	for (uint32_t class = 0; class < ESTIMATE_BLOCK_SIZES; class ++)
		if (!put(blocks, class, digest, n_blocks, error))
			return false;

	return true;
}

bool estimate_blocks_end_file(EstimateBlocks *blocks, uint64_t size_bytes, GError **error)
{
	if (!end_span(blocks, error))
		return false;
	if (!blocks->is_known || !blocks->has_data)
		return true;

	end_nothing(blocks);
	XXH3_64bits_update(blocks->whole, &size_bytes, sizeof(size_bytes));
	return put(blocks, ESTIMATE_BLOCK_SIZES, XXH3_64bits_digest(blocks->whole),
		   blocks->n_taking_space, error);
}

bool estimate_blocks_count(EstimateBlocks *blocks, SampleCount ret[ESTIMATE_BLOCK_COUNTS],
			   GError **error)
{
	FixedBlock last = { .class = UINT32_MAX };
	const FixedBlock *block;
	uint64_t n_equal = 0;

	memset(ret, 0, ESTIMATE_BLOCK_COUNTS * sizeof(ret[0]));
	if (!sorter_sort(blocks->sorter, error))
		return false;
	while (true) {
		if (!sorter_next(blocks->sorter, (const void **)&block, error))
			return false;
		bool is_equal = block && block->class == last.class && block->digest == last.digest;

		if (!is_equal && n_equal == 1)
			ret[last.class].single_bytes +=
				(uint64_t)last.n_blocks * blocks->block_bytes;
		if (!block)
			return true;

		uint64_t bytes = (uint64_t)block->n_blocks * blocks->block_bytes;
		n_equal = is_equal ? n_equal + 1 : 1;
		ret[block->class].bytes += bytes;
		ret[block->class].saved_bytes += is_equal ? bytes : 0;
		last = *block;
	}
}
