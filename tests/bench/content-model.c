/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/bench/content-model.h"

#include "tests/bench/bench-store.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define LENGTH_BITS    13 /* the longest object has 2^13 blocks */
#define LENGTH_SKEW    3.0
#define RUN_BLOCKS     32
#define MIXED_SHARE    0.75 /* of the blocks of a mixed object that are duplicates */
#define POPULAR        1024
#define POPULAR_ONE_IN 8
#define SOURCE_TRIES   8
#define FIRST_FRESH    64

/* What is decided about each object. */
enum { LENGTH, KIND, RUNS, N_DECISIONS };

/*
 * Duplicates by blocks of 4 KiB, in percent of all blocks that would be reclaimed.  archival, personal and
 * performance are the data sets of DEDISbench (Paulo, Reis, Pereira, Sousa: DEDISbench, a benchmark for
 * deduplicated storage systems, 2012); kernels are versions of the sources of Linux, images those of virtual
 * machines with Ubuntu.
 */
static const struct {
	const char *name;
	double percent;
} shapes[] = {
	{ "archival", 6.6 }, { "personal", 17.2 }, { "performance", 25.0 },
	{ "images", 34.4 },  { "kernels", 60.9 },
};

double content_model_shape(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++)
		if (strcmp(shapes[i].name, name) == 0)
			return shapes[i].percent / 100;
	return -1;
}

const char *content_model_shapes(void)
{
	return "archival personal performance images kernels";
}

/* A number from 0 to less than 1. */
static double fraction(uint64_t random)
{
	return (double)(random >> 11) / (double)(UINT64_C(1) << 53);
}

/* The random number that decides @what of object @number. */
static uint64_t chance_of(const ContentModel *model, uint64_t number, uint64_t what)
{
	return bench_store_mix(model->seed ^ bench_store_mix(number * N_DECISIONS + what));
}

static uint64_t next_random(uint64_t *chance)
{
	return bench_store_mix((*chance)++);
}

/* Of objects that are no copies. */
static uint32_t own_blocks(const ContentModel *model, uint64_t number)
{
	double bits = LENGTH_BITS * pow(fraction(chance_of(model, number, LENGTH)), LENGTH_SKEW);

	return (uint32_t)exp2(bits);
}

typedef enum { FRESH, COPY, MIXED } Kind;

static Kind kind_of(const ContentModel *model, uint64_t number)
{
	double copies = model->reclaimable / 2;
	double at = fraction(chance_of(model, number, KIND));

	/* The first objects are the sources of all others. */
	if (number < FIRST_FRESH || at >= copies + copies / MIXED_SHARE)
		return FRESH;
	return at < copies ? COPY : MIXED;
}

bool content_model_is_copy(const ContentModel *model, uint64_t number)
{
	return kind_of(model, number) == COPY;
}

/* A fresh object before @number. */
static uint64_t choose_source(const ContentModel *model, uint64_t number, uint64_t *chance)
{
	uint64_t most = next_random(chance) % POPULAR_ONE_IN == 0 ? MIN(number, POPULAR) : number;
	uint64_t source = next_random(chance) % most;

	while (kind_of(model, source) != FRESH)
		source--;
	return source;
}

void content_cursor_init(ContentCursor *cursor, const ContentModel *model, uint64_t number)
{
	*cursor = (ContentCursor){
		.model = model,
		.number = number,
		.chance = chance_of(model, number, RUNS),
		.blocks = own_blocks(model, number),
	};
}

/* A part of a fresh object that is about as long as @run, which becomes it. */
static void choose_part(ContentCursor *cursor, ContentRun *run)
{
	uint32_t has = 0;

	for (unsigned i = 0; i < SOURCE_TRIES && has < run->blocks; i++) {
		run->origin = choose_source(cursor->model, cursor->number, &cursor->chance);
		has = own_blocks(cursor->model, run->origin);
	}
	run->blocks = MIN(run->blocks, has);
	run->first = (uint32_t)(next_random(&cursor->chance) % (has - run->blocks + 1));
}

static void next_mixed(ContentCursor *cursor, ContentRun *ret)
{
	double length = -log(1 - fraction(next_random(&cursor->chance))) * RUN_BLOCKS;

	*ret = (ContentRun){
		.origin = cursor->number,
		.first = cursor->next,
		.blocks = MIN((uint32_t)length + 1, cursor->blocks - cursor->next),
	};
	if (fraction(next_random(&cursor->chance)) < MIXED_SHARE)
		choose_part(cursor, ret);
}

bool content_cursor_next(ContentCursor *cursor, ContentRun *ret)
{
	if (cursor->next == cursor->blocks)
		return false;

	*ret = (ContentRun){ .origin = cursor->number, .blocks = cursor->blocks };
	switch (kind_of(cursor->model, cursor->number)) {
	case FRESH:
		break;
	case COPY:
		ret->origin = choose_source(cursor->model, cursor->number, &cursor->chance);
		ret->blocks = own_blocks(cursor->model, ret->origin);
		cursor->blocks = ret->blocks;
		break;
	case MIXED:
		next_mixed(cursor, ret);
		break;
	}
	cursor->next += ret->blocks;

	return true;
}

uint64_t content_model_bytes(const ContentModel *model, uint64_t number, uint32_t block_bytes)
{
	ContentCursor cursor;
	ContentRun run;

	content_cursor_init(&cursor, model, number);
	if (content_model_is_copy(model, number))
		content_cursor_next(&cursor, &run);
	return (uint64_t)cursor.blocks * block_bytes;
}

uint64_t content_run_sum(const ContentModel *model, const ContentRun *run, uint32_t i)
{
	return bench_store_mix(model->seed * 11 + (run->origin << LENGTH_BITS) + run->first + i);
}
