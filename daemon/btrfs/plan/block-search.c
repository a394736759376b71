/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/block-search.h"

#include "common/content/run.h"
#include "daemon/btrfs/pinned/pinned-extents.h"
#include "daemon/btrfs/plan/extent-outcome.h"
#include "daemon/btrfs/plan/role-swap.h"
#include "daemon/btrfs/plan/zero-source.h"
#include "hashstore/objects/objects.h"

#include <sys/statvfs.h>

/* A shorter extent gains little. */
#define EXTENT_BYTES_MIN (UINT64_C(128) << 10)

/* An extent with more uncovered quarters would hardly be covered as a whole. */
#define UNCOVERED_QUARTERS_MAX 3

/* The search runs if it looks for at least so many bytes per byte of checksums that it reads. */
#define WORTH_BYTES 4

/*
 * At most so many wanted blocks are noted for one block that equals them.  If there are more, each time other ones.
 */
#define EQUALS_MAX 64

/*
 * Limit of the places noted per block, 40 bytes of a temporary file each.  One is not enough, as some may be
 * unusable.  A further place is noted if a run through it is about twice as long.  So a file with the blocks of
 * others in random order does not hide where they are in theirs.
 */
#define PLACES_MAX 3

/* Equal blocks of one extent that are held in memory, 16 bytes each. */
#define HITS_MAX (1u << 16)

/*
 * In a filesystem with so many blocks, two blocks in a row have to be equal.  With sums of 4 bytes, a unique block
 * has the sum of another one with a probability of 1/64 then.
 */
#define PAIRS_FROM_BLOCKS (UINT64_C(1) << 26)

/* Bits of the filter per wanted block. */
#define FILTER_BITS 16

typedef struct {
	uint32_t id;
	uint32_t blocks;
	uint64_t uncovered_bytes;
	ExtentPin pin; /* PIN_NONE: it is the source of another one */
} WantedExtent;

typedef struct {
	uint64_t sum;
	uint32_t extent; /* number in extents */
	uint32_t block : 24;
	uint32_t n_places : 3; /* that were noted, up to PLACES_MAX */
	uint32_t longest : 5;  /* bits of the number of blocks of the longest run through it */
} WantedBlock;

typedef struct {
	uint32_t wanted; /* number in blocks */
	uint32_t block;  /* of the extent that is looked through */
	int64_t diagonal;
} Hit;

struct BlockSearch {
	Pass *pass;
	ExtentSums *sums;
	ObjectTable *table;
	GArray *extents;     /* WantedExtent */
	GHashTable *numbers; /* id -> number in extents, until they are looked for */
	GHashTable *sources; /* ids of extents that were added as the main source of others */
	GArray *blocks;      /* WantedBlock, by sum */
	GArray *hits;        /* Hit, of the present extent */
	uint8_t *filter;     /* a bit for each remainder that sums of blocks leave */
	uint64_t filter_mask;
	uint64_t data_blocks; /* of the filesystem */
	uint64_t n_crowds;    /* blocks that were met with more than EQUALS_MAX equal ones */
	guint n_tried;        /* the first of extents, which were looked for */
};

BlockSearch *block_search_new(Pass *pass, ExtentSums *sums, ObjectTable *table)
{
	BlockSearch *search = g_new0(BlockSearch, 1);

	search->pass = pass;
	search->sums = sums;
	search->table = table;
	search->extents = g_array_new(false, false, sizeof(WantedExtent));
	search->numbers = g_hash_table_new(NULL, NULL);
	search->sources = g_hash_table_new(NULL, NULL);
	search->blocks = g_array_new(false, false, sizeof(WantedBlock));
	search->hits = g_array_new(false, false, sizeof(Hit));
	return search;
}

void block_search_free(BlockSearch *search)
{
	if (!search)
		return;

	g_array_unref(search->extents);
	g_hash_table_unref(search->numbers);
	g_hash_table_unref(search->sources);
	g_clear_pointer(&search->blocks, g_array_unref);
	g_clear_pointer(&search->hits, g_array_unref);
	g_free(search->filter);
	g_free(search);
}

/* Sorting takes as much again. */
static uint64_t blocks_max(const BlockSearch *search)
{
	return search->pass->settings->memory_bytes / 4 /
	       (2 * sizeof(WantedBlock) + FILTER_BITS * 2 / 8);
}

static guint extents_max(const BlockSearch *search)
{
	return (guint)(search->pass->settings->memory_bytes / 16 / sizeof(WantedExtent));
}

/* Add @extent, which may have been added before; false if it is of no use, or there is no room. */
static bool add(BlockSearch *search, const Object *extent, uint64_t uncovered_bytes,
		const ExtentPin *pin)
{
	const WantedExtent wanted = {
		.id = extent->id,
		.blocks = (uint32_t)(extent->size_bytes / search->pass->block_bytes),
		.uncovered_bytes = uncovered_bytes,
		.pin = *pin,
	};
	gpointer number;

	if (extent->size_bytes < EXTENT_BYTES_MIN ||
	    uncovered_bytes / UNCOVERED_QUARTERS_MAX > extent->size_bytes / 4 ||
	    (search->pass->btrfs.zero_source && search->pass->btrfs.zero_source->id == extent->id))
		return false;
	if (g_hash_table_lookup_extended(search->numbers, GUINT_TO_POINTER(extent->id), NULL,
					 &number)) {
		g_array_index(search->extents, WantedExtent, GPOINTER_TO_UINT(number)) = wanted;
		return true;
	}
	if (search->extents->len >= extents_max(search))
		return false;

	g_hash_table_insert(search->numbers, GUINT_TO_POINTER(extent->id),
			    GUINT_TO_POINTER(search->extents->len));
	g_array_append_val(search->extents, wanted);
	return true;
}

/* Add the extent that most of @runs are from. */
static bool add_source(BlockSearch *search, const GArray *runs, GError **error)
{
	const ExtentPin none = { .cause = PIN_NONE };
	uint64_t blocks;
	uint32_t id = role_swap_main_source(search->table, runs, &blocks);
	Object source;
	bool found;

	if (id == RUN_HOLE || g_hash_table_contains(search->numbers, GUINT_TO_POINTER(id)))
		return true;
	if (!hash_store_peek(search->pass->store, id, &source, &found, error))
		return false;
	if (found) {
		uint64_t known_bytes = MIN(blocks * search->pass->block_bytes, source.size_bytes);

		if (add(search, &source, source.size_bytes - known_bytes, &none))
			g_hash_table_add(search->sources, GUINT_TO_POINTER(id));
	}
	return true;
}

bool block_search_add(BlockSearch *search, const Object *extent, const ExtentPin *pin,
		      const GArray *runs, bool *ret, GError **error)
{
	*ret = pin->cause == PIN_UNCOVERED && add(search, extent, pin->uncovered_bytes, pin);
	if (!*ret)
		return true;

	g_hash_table_remove(search->sources, GUINT_TO_POINTER(extent->id));
	return add_source(search, runs, error);
}

GHashTable *block_search_sources(const BlockSearch *search)
{
	return search->sources;
}

static double uncovered_share(const WantedExtent *extent)
{
	return (double)extent->uncovered_bytes / extent->blocks;
}

static int compare_extents(const void *a, const void *b)
{
	double one = uncovered_share(a), other = uncovered_share(b);

	return (one > other) - (one < other);
}

/* In the order of ids, which is about that on the disk. */
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

/* By the wanted extent, then by runs. */
static int compare_hits(const void *a, const void *b, void *data)
{
	const WantedBlock *blocks = data;
	const Hit *one = a, *other = b;
	uint32_t one_extent = blocks[one->wanted].extent,
		 other_extent = blocks[other->wanted].extent;

	if (one_extent != other_extent)
		return one_extent < other_extent ? -1 : 1;
	if (one->diagonal != other->diagonal)
		return one->diagonal < other->diagonal ? -1 : 1;
	return (one->block > other->block) - (one->block < other->block);
}

/* The end of the untried extents that fit into memory at a time; *ret_blocks: the number of their blocks. */
static guint end_of_load(const BlockSearch *search, uint64_t *ret_blocks)
{
	guint i;

	*ret_blocks = 0;
	for (i = search->n_tried; i < search->extents->len; i++) {
		uint64_t blocks = g_array_index(search->extents, WantedExtent, i).blocks;

		if (*ret_blocks + blocks > blocks_max(search))
			break;
		*ret_blocks += blocks;
	}

	return i;
}

static bool is_worth(BlockSearch *search, uint64_t blocks)
{
	const Pass *pass = search->pass;
	struct statvfs state;

	if (blocks == 0 || fstatvfs(pass->filesystem->fd, &state) != 0)
		return false;

	search->data_blocks = (state.f_blocks - state.f_bfree) * state.f_frsize / pass->block_bytes;
	return blocks * pass->block_bytes >=
	       search->data_blocks * extent_sums_bytes(search->sums) * WORTH_BYTES;
}

/* Add the sums of all blocks of the extent. */
static bool add_blocks(BlockSearch *search, guint number, GError **error)
{
	WantedExtent *wanted = &g_array_index(search->extents, WantedExtent, number);
	g_autofree uint64_t *sums = g_new(uint64_t, wanted->blocks);
	Object extent;
	bool found;

	if (!hash_store_peek(search->pass->store, wanted->id, &extent, &found, error))
		return false;
	if (!found || extent.size_bytes / search->pass->block_bytes != wanted->blocks ||
	    !object_table_is_live(wanted->id, search->table))
		return true;
	if (!extent_sums_read(search->sums, extent.inode, wanted->blocks, sums, error))
		return false;

	for (uint32_t i = 0; i < wanted->blocks; i++) {
		WantedBlock block = { .sum = sums[i], .extent = number, .block = i };

		/* A hole covers zeros. */
		if (sums[i] != EXTENT_SUM_NONE && sums[i] != extent_sums_of_zeros(search->sums))
			g_array_append_val(search->blocks, block);
	}
	object_table_remove_fact(search->table, wanted->id, FACT_PINNED);
	object_table_remove_fact(search->table, wanted->id, FACT_LOCKED);
	return true;
}

static void make_filter(BlockSearch *search)
{
	/* If all extents of a load are gone by now, it has no blocks. */
	gulong n = MAX(search->blocks->len, 1);
	uint64_t bits = UINT64_C(1) << g_bit_storage(n * FILTER_BITS);

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

static bool may_be_wanted(const BlockSearch *search, uint64_t sum)
{
	uint64_t bit = sum & search->filter_mask;

	return sum != EXTENT_SUM_NONE && search->filter[bit / 8] & 1 << bit % 8;
}

/* Note the wanted blocks that @block of the extent @id equals. */
static void note_hits(BlockSearch *search, uint32_t id, uint32_t block, uint64_t sum)
{
	const WantedBlock *blocks = (const WantedBlock *)(const void *)search->blocks->data;
	size_t first = first_from(search, sum);
	size_t n = first_from(search, sum + 1) - first;
	size_t start = n > EQUALS_MAX ? search->n_crowds++ * EQUALS_MAX % n : 0;

	for (size_t i = 0; i < MIN(n, EQUALS_MAX); i++) {
		uint32_t wanted = (uint32_t)(first + (start + i) % n);
		Hit hit = {
			.wanted = wanted,
			.block = block,
			.diagonal = (int64_t)blocks[wanted].block - block,
		};

		if (g_array_index(search->extents, WantedExtent, blocks[wanted].extent).id != id)
			g_array_append_val(search->hits, hit);
	}
}

/* Whether @hits, a run, are of use for one of their blocks; if so, they count as noted. */
static bool are_of_use(BlockSearch *search, const Hit *hits, guint n_hits)
{
	WantedBlock *blocks = (WantedBlock *)(void *)search->blocks->data;
	uint32_t bits = g_bit_storage(n_hits);
	bool are = false;

	for (guint i = 0; i < n_hits && !are; i++)
		are = blocks[hits[i].wanted].n_places < PLACES_MAX ||
		      blocks[hits[i].wanted].longest < bits;
	for (guint i = 0; i < n_hits && are; i++) {
		WantedBlock *block = &blocks[hits[i].wanted];

		block->n_places += block->n_places < PLACES_MAX;
		block->longest = MAX(block->longest, bits);
	}

	return are;
}

/* The number of @hits, from the first on, that form one run. */
static guint stretch_length(const BlockSearch *search, const Hit *hits, guint n_hits)
{
	const WantedBlock *blocks = (const WantedBlock *)(const void *)search->blocks->data;
	guint n = 1;

	while (n < n_hits && blocks[hits[n].wanted].extent == blocks[hits[0].wanted].extent &&
	       hits[n].diagonal == hits[0].diagonal && hits[n].block == hits[n - 1].block + 1)
		n++;
	return n;
}

/* A unique block may have the sum of another one by chance, but its neighbour does not, too. */
static guint least_blocks(const BlockSearch *search)
{
	bool may_be_chance = extent_sums_bytes(search->sums) == sizeof(uint32_t) &&
			     search->data_blocks >= PAIRS_FROM_BLOCKS;

	return may_be_chance ? 2 : 1;
}

/* Turn the hits of the extent @id into runs. */
static bool add_runs(BlockSearch *search, uint32_t id, Sorter *runs, GError **error)
{
	const WantedBlock *blocks = (const WantedBlock *)(const void *)search->blocks->data;
	const Hit *hits = (const Hit *)(const void *)search->hits->data;
	guint n_hits = search->hits->len;
	guint least = least_blocks(search);

	g_array_sort_with_data(search->hits, compare_hits, search->blocks->data);
	for (guint i = 0, n; i < n_hits; i += n) {
		const WantedBlock *first = &blocks[hits[i].wanted];
		Run run = {
			.target_rank = object_table_rank(
				search->table,
				g_array_index(search->extents, WantedExtent, first->extent).id),
			.target_block = first->block,
			.source_block = hits[i].block,
			.source = id,
			.source_class = object_table_rank_class(search->table, id),
		};

		n = stretch_length(search, &hits[i], n_hits - i);
		run.blocks = n;
		if (n >= least && are_of_use(search, &hits[i], n) && !sorter_add(runs, &run, error))
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

static bool look_through_all(BlockSearch *search, Sorter *runs, GError **error)
{
	g_autoptr(ObjectCursor) cursor =
		object_cursor_open_from(search->pass->store, OBJECT_EXTENTS, error);
	const Object *extent;

	while (cursor && pass_checkpoint(search->pass)) {
		if (!object_cursor_next(cursor, &extent, error))
			return false;
		if (!extent || extent->subvolume != OBJECT_EXTENTS)
			return true;
		if (is_source(search, extent) && !look_through(search, extent, runs, error))
			return false;
	}

	return cursor;
}

/* Look for the untried extents up to @end. */
static bool look_for(BlockSearch *search, guint end, Sorter *runs, GError **error)
{
	WantedExtent *extents = (WantedExtent *)(void *)search->extents->data;
	bool done;

	qsort(&extents[search->n_tried], end - search->n_tried, sizeof(WantedExtent), compare_ids);
	for (; search->n_tried < end; search->n_tried++) {
		if (!pass_checkpoint(search->pass))
			return true;
		if (!add_blocks(search, search->n_tried, error))
			return false;
	}

	g_array_sort(search->blocks, compare_blocks);
	make_filter(search);
	done = look_through_all(search, runs, error);
	g_array_set_size(search->blocks, 0);
	g_clear_pointer(&search->filter, g_free);
	return done;
}

bool block_search_run(BlockSearch *search, Sorter *runs, GError **error)
{
	g_hash_table_remove_all(search->numbers);
	g_array_sort(search->extents, compare_extents);
	while (pass_checkpoint(search->pass)) {
		uint64_t blocks;
		guint end = end_of_load(search, &blocks);

		if (!is_worth(search, blocks))
			break;
		if (!look_for(search, end, runs, error))
			return false;
	}

	/* Free the memory: sharing comes next. */
	g_array_unref(g_steal_pointer(&search->blocks));
	g_array_unref(g_steal_pointer(&search->hits));
	return true;
}

/* Whether the extent @number was not tried once more, or has no equal any more. */
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

		if (wanted->pin.cause == PIN_NONE || !is_untried(search, i))
			continue;
		if (!hash_store_peek(search->pass->store, wanted->id, &extent, &found, error))
			return false;
		if (!found)
			continue;
		object_table_add_fact(search->table, wanted->id, FACT_PINNED);
		extent_outcome_note_skipped(search->pass, &extent, SKIP_PINNED,
					    place->root ? place : NULL);
		if (!pinned_extents_put(search->pass->btrfs.pinned, &extent, &wanted->pin, true,
					error))
			return false;
	}

	return true;
}
