/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/block-search.h"

#include "daemon/extent-skips.h"
#include "daemon/pinned-extents.h"
#include "daemon/run.h"
#include "daemon/zero-source.h"
#include "hashstore/objects.h"

#include <string.h>
#include <sys/statvfs.h>

/* A shorter extent gains little. */
#define EXTENT_BYTES_MIN (UINT64_C(128) << 10)

/* One of which more is not known, in quarters, would hardly be covered. */
#define UNCOVERED_QUARTERS_MAX 3

/* The extents have to be this part of the data: four bytes for each that is read of checksums. */
#define WORTH_SHARE 256

/* Of the places of one block so many are looked at: some may not be of use. */
#define PLACES_MAX 64

/* So many runs for each block, 40 bytes of a temporary file each, are enough. */
#define RUNS_PER_BLOCK 4

/* Equal blocks of one extent that are held in memory, 16 bytes each. */
#define HITS_MAX (1u << 16)

/*
 * On so many blocks or more, two in a row have to be equal: a block that is nowhere else has the sum of another one
 * with a chance of 1/64 then, where sums are of 4 bytes.
 */
#define PAIRS_FROM_BLOCKS (UINT64_C(1) << 26)

/* Bits of the filter for each block that is looked for. */
#define FILTER_BITS 16

typedef struct {
	uint32_t id;
	uint32_t blocks;
	ExtentPin pin;
} WantedExtent;

typedef struct {
	uint64_t sum;
	uint32_t extent; /* number in extents */
	uint32_t block : 24;
	uint32_t n_places : 8;
} WantedBlock;

typedef struct {
	uint32_t extent;
	uint32_t block; /* of the extent that is looked through */
	int64_t diagonal;
} Hit;

struct BlockSearch {
	Pass *pass;
	ExtentSums *sums;
	ObjectTable *table;
	GArray *extents; /* WantedExtent */
	GArray *blocks;  /* WantedBlock, by sum */
	GArray *hits;    /* Hit, of the extent in hand */
	uint8_t *filter; /* a bit for each remainder that sums of blocks leave */
	uint64_t filter_mask;
	uint64_t data_blocks; /* of the filesystem */
	guint n_tried;        /* the first of extents, which were looked for */
};

BlockSearch *block_search_new(Pass *pass, ExtentSums *sums, ObjectTable *table)
{
	BlockSearch *search = g_new0(BlockSearch, 1);

	search->pass = pass;
	search->sums = sums;
	search->table = table;
	search->extents = g_array_new(false, false, sizeof(WantedExtent));
	search->blocks = g_array_new(false, false, sizeof(WantedBlock));
	search->hits = g_array_new(false, false, sizeof(Hit));
	return search;
}

void block_search_free(BlockSearch *search)
{
	if (!search)
		return;

	g_array_unref(search->extents);
	g_array_unref(search->blocks);
	g_array_unref(search->hits);
	g_free(search->filter);
	g_free(search);
}

/* Sorting takes as much again. */
static uint64_t blocks_max(const BlockSearch *search)
{
	return search->pass->settings->memory_bytes / 4 /
	       (2 * sizeof(WantedBlock) + FILTER_BITS * 2 / 8);
}

bool block_search_add(BlockSearch *search, const Object *extent, const ExtentPin *pin)
{
	WantedExtent wanted = {
		.id = extent->id,
		.blocks = (uint32_t)(extent->size_bytes / search->pass->block_bytes),
		.pin = *pin,
	};

	if (pin->cause != PIN_UNCOVERED || extent->size_bytes < EXTENT_BYTES_MIN ||
	    pin->uncovered_bytes / UNCOVERED_QUARTERS_MAX > extent->size_bytes / 4 ||
	    (search->pass->zero_source && search->pass->zero_source->id == extent->id))
		return false;
	/* More would not fit in any case. */
	if (search->extents->len >=
	    blocks_max(search) / (EXTENT_BYTES_MIN / search->pass->block_bytes))
		return false;

	g_array_append_val(search->extents, wanted);
	return true;
}

static double uncovered_share(const WantedExtent *extent)
{
	return (double)extent->pin.uncovered_bytes / extent->blocks;
}

static int compare_extents(const void *a, const void *b)
{
	double one = uncovered_share(a), other = uncovered_share(b);

	return (one > other) - (one < other);
}

/* About as they lie on the disk. */
static int compare_ids(const void *a, const void *b)
{
	const WantedExtent *one = a, *other = b;

	return (one->id > other->id) - (one->id < other->id);
}

static int compare_blocks(const void *a, const void *b)
{
	const WantedBlock *one = a, *other = b;

	return (one->sum > other->sum) - (one->sum < other->sum);
}

static int compare_hits(const void *a, const void *b)
{
	const Hit *one = a, *other = b;

	if (one->extent != other->extent)
		return one->extent < other->extent ? -1 : 1;
	if (one->diagonal != other->diagonal)
		return one->diagonal < other->diagonal ? -1 : 1;
	return (one->block > other->block) - (one->block < other->block);
}

/* Those come first of which most is known.  Returns how many of them fit; *ret_blocks is what they have. */
static guint choose(BlockSearch *search, uint64_t *ret_blocks)
{
	*ret_blocks = 0;
	g_array_sort(search->extents, compare_extents);
	for (guint i = 0; i < search->extents->len; i++) {
		uint64_t blocks = g_array_index(search->extents, WantedExtent, i).blocks;

		if (*ret_blocks + blocks > blocks_max(search))
			return i;
		*ret_blocks += blocks;
	}

	return search->extents->len;
}

static bool is_worth(BlockSearch *search, uint64_t blocks)
{
	struct statvfs state;

	if (blocks == 0 || fstatvfs(search->pass->filesystem->fd, &state) != 0)
		return false;

	search->data_blocks =
		(state.f_blocks - state.f_bfree) * state.f_frsize / search->pass->block_bytes;
	return blocks >= search->data_blocks / WORTH_SHARE;
}

/* The sums of all blocks of the extent, from which others are found. */
static bool add_blocks(BlockSearch *search, guint number, GError **error)
{
	WantedExtent *wanted = &g_array_index(search->extents, WantedExtent, number);
	g_autofree uint64_t *sums = g_new(uint64_t, wanted->blocks);
	Object extent;
	bool found;

	if (!hash_store_peek(search->pass->store, wanted->id, &extent, &found, error))
		return false;
	if (!found || extent.size_bytes / search->pass->block_bytes != wanted->blocks)
		return true;
	if (!extent_sums_read(search->sums, extent.inode, wanted->blocks, sums, error))
		return false;

	for (uint32_t i = 0; i < wanted->blocks; i++) {
		WantedBlock block = { .sum = sums[i], .extent = number, .block = i };

		/* For zeros a hole does. */
		if (sums[i] != EXTENT_SUM_NONE && sums[i] != extent_sums_of_zeros(search->sums))
			g_array_append_val(search->blocks, block);
	}
	object_table_remove_fact(search->table, wanted->id, FACT_PINNED);
	object_table_remove_fact(search->table, wanted->id, FACT_LOCKED);
	return true;
}

static void make_filter(BlockSearch *search)
{
	uint64_t bits = UINT64_C(1) << g_bit_storage((gulong)search->blocks->len * FILTER_BITS);

	search->filter = g_malloc0(bits / 8);
	search->filter_mask = bits - 1;
	for (guint i = 0; i < search->blocks->len; i++) {
		uint64_t bit =
			g_array_index(search->blocks, WantedBlock, i).sum & search->filter_mask;

		search->filter[bit / 8] |= (uint8_t)(1 << bit % 8);
	}
}

/* The first of the blocks with a sum of @sum or more. */
static size_t first_from(const BlockSearch *search, uint64_t sum)
{
	const WantedBlock *blocks = (const WantedBlock *)(const void *)search->blocks->data;
	size_t low = 0, high = search->blocks->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (blocks[middle].sum < sum)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of the blocks [@low, @high), which have one sum, the first with too few places: none before it has. */
static size_t first_short(const BlockSearch *search, size_t low, size_t high)
{
	const WantedBlock *blocks = (const WantedBlock *)(const void *)search->blocks->data;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (blocks[middle].n_places >= PLACES_MAX)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool may_be_wanted(const BlockSearch *search, uint64_t sum)
{
	uint64_t bit = sum & search->filter_mask;

	return sum != EXTENT_SUM_NONE && search->filter[bit / 8] & 1 << bit % 8;
}

/* Note blocks that @block of the extent @id is equal to: of very many those that have few places. */
static void note_hits(BlockSearch *search, uint32_t id, uint32_t block, uint64_t sum)
{
	WantedBlock *blocks = (WantedBlock *)(void *)search->blocks->data;
	size_t end = first_from(search, sum + 1);
	size_t first = first_short(search, first_from(search, sum), end);

	for (size_t i = first; i < end && i < first + PLACES_MAX; i++) {
		Hit hit = {
			.extent = blocks[i].extent,
			.block = block,
			.diagonal = (int64_t)blocks[i].block - block,
		};

		blocks[i].n_places++;
		if (g_array_index(search->extents, WantedExtent, hit.extent).id != id)
			g_array_append_val(search->hits, hit);
	}
}

/* The hits of the extent @id become runs. */
static bool add_runs(BlockSearch *search, uint32_t id, Sorter *runs, GError **error)
{
	const Hit *hits = (const Hit *)(const void *)search->hits->data;
	uint64_t least_blocks = search->data_blocks < PAIRS_FROM_BLOCKS ? 1 : 2;

	g_array_sort(search->hits, compare_hits);
	for (guint i = 0, end; i < search->hits->len; i = end) {
		const WantedExtent *extent =
			&g_array_index(search->extents, WantedExtent, hits[i].extent);
		Run run = {
			.target_rank = object_table_rank(search->table, extent->id),
			.target_block = (uint64_t)(hits[i].block + hits[i].diagonal),
			.source_block = hits[i].block,
			.source = id,
		};

		for (end = i + 1; end < search->hits->len && hits[end].extent == hits[i].extent &&
				  hits[end].diagonal == hits[i].diagonal &&
				  hits[end].block == hits[end - 1].block + 1;)
			end++;
		run.blocks = end - i;
		if (run.blocks >= least_blocks && !sorter_add(runs, &run, error))
			return false;
	}

	g_array_set_size(search->hits, 0);
	return true;
}

/* Whether the extent may serve as a source. */
static bool is_source(const BlockSearch *search, const Object *extent)
{
	return extent->state == OBJECT_DONE &&
	       (object_table_facts(search->table, extent->id) &
		(FACT_LIVE | FACT_MOVED | FACT_BARRED | FACT_AWAY | FACT_HELD)) == FACT_LIVE;
}

static bool look_through(BlockSearch *search, const Object *extent, Sorter *runs, GError **error)
{
	uint32_t id = extent->id;
	size_t n = extent->size_bytes / search->pass->block_bytes;
	g_autofree uint64_t *sums = g_new(uint64_t, n);

	if (!extent_sums_read(search->sums, extent->inode, n, sums, error))
		return false;

	for (size_t i = 0; i < n; i++) {
		if (may_be_wanted(search, sums[i]))
			note_hits(search, id, (uint32_t)i, sums[i]);
		if (search->hits->len >= HITS_MAX && !add_runs(search, id, runs, error))
			return false;
	}

	return add_runs(search, id, runs, error);
}

/* Whether more runs would only tell of blocks that are everywhere. */
static bool is_enough(const BlockSearch *search, const Sorter *runs)
{
	return sorter_count(runs) >= (uint64_t)search->blocks->len * RUNS_PER_BLOCK;
}

static bool look_through_all(BlockSearch *search, Sorter *runs, GError **error)
{
	g_autoptr(ObjectCursor) cursor =
		object_cursor_open_from(search->pass->store, OBJECT_EXTENTS, error);
	const Object *extent;

	while (cursor && pass_may_continue(search->pass) && !is_enough(search, runs)) {
		if (!object_cursor_next(cursor, &extent, error))
			return false;
		if (!extent || extent->subvolume != OBJECT_EXTENTS)
			return true;
		if (is_source(search, extent) && !look_through(search, extent, runs, error))
			return false;
	}

	return cursor;
}

bool block_search_run(BlockSearch *search, Sorter *runs, GError **error)
{
	uint64_t blocks;
	guint n = choose(search, &blocks);

	if (!is_worth(search, blocks))
		return true;

	qsort(search->extents->data, n, sizeof(WantedExtent), compare_ids);
	for (; search->n_tried < n; search->n_tried++) {
		if (!pass_may_continue(search->pass))
			return true;
		if (!add_blocks(search, search->n_tried, error))
			return false;
	}

	g_array_sort(search->blocks, compare_blocks);
	make_filter(search);
	return look_through_all(search, runs, error);
}

/* Whether the extent @number was not tried once more, or equals nothing any more. */
static bool is_untried(const BlockSearch *search, guint number)
{
	uint32_t id = g_array_index(search->extents, WantedExtent, number).id;
	unsigned facts = object_table_facts(search->table, id);

	return number >= search->n_tried ||
	       (facts & (FACT_LIVE | FACT_MOVED | FACT_PINNED)) == FACT_LIVE;
}

bool block_search_end(BlockSearch *search, GError **error)
{
	for (guint i = 0; i < search->extents->len; i++) {
		const WantedExtent *wanted = &g_array_index(search->extents, WantedExtent, i);
		const ExtentRef *place = &wanted->pin.place;
		Object extent;
		bool found;

		if (!is_untried(search, i))
			continue;
		if (!hash_store_peek(search->pass->store, wanted->id, &extent, &found, error))
			return false;
		if (!found)
			continue;
		extent_skips_add(search->pass, &extent, SKIP_PINNED, place->root ? place : NULL);
		pinned_extents_count(search->pass->pinned, &extent, &wanted->pin);
	}

	return true;
}
