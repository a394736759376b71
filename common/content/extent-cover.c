/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/extent-cover.h"

#include <string.h>

/* How far beyond its estimated ends a run is followed first; then eight times as far each time. */
#define FOLLOW_BLOCKS 64

typedef struct {
	uint32_t source;
	uint64_t diagonal;
	bool is_whole;
	bool is_zeros;
} Owner;

/* A range that an owner may cover. */
typedef struct {
	uint64_t first;
	uint64_t end;
	uint32_t owner;
} Reach;

struct ExtentCover {
	ExtentSums *sums;
	uint32_t block_bytes;
	uint64_t blocks;
	GArray *target_sums;  /* uint64_t for each block */
	GArray *source_sums;  /* of the source's window */
	GArray *owned;        /* uint32_t per block: 1 + index of the owner; 0: not covered */
	GArray *owners;       /* Owner */
	GArray *reaches;      /* Reach, of the last addition, or since a join began */
	CoverRange looked_at; /* by the last addition */
	bool is_joining;
};

ExtentCover *extent_cover_new(ExtentSums *sums, uint32_t block_bytes)
{
	ExtentCover *cover = g_new0(ExtentCover, 1);

	cover->sums = sums;
	cover->block_bytes = block_bytes;
	cover->target_sums = g_array_new(false, false, sizeof(uint64_t));
	cover->source_sums = g_array_new(false, false, sizeof(uint64_t));
	cover->owned = g_array_new(false, true, sizeof(uint32_t));
	cover->owners = g_array_new(false, false, sizeof(Owner));
	cover->reaches = g_array_new(false, false, sizeof(Reach));
	return cover;
}

void extent_cover_free(ExtentCover *cover)
{
	if (!cover)
		return;

	g_array_unref(cover->target_sums);
	g_array_unref(cover->source_sums);
	g_array_unref(cover->owned);
	g_array_unref(cover->owners);
	g_array_unref(cover->reaches);
	g_free(cover);
}

static uint32_t *owned(const ExtentCover *cover)
{
	return (uint32_t *)cover->owned->data;
}

bool extent_cover_begin(ExtentCover *cover, uint64_t bytenr, uint64_t blocks, GError **error)
{
	cover->blocks = blocks;
	g_array_set_size(cover->owners, 0);
	cover->is_joining = false;
	g_array_set_size(cover->owned, 0);
	g_array_set_size(cover->owned, (guint)blocks);
	g_array_set_size(cover->target_sums, (guint)blocks);
	return extent_sums_read(cover->sums, bytenr, blocks, (uint64_t *)cover->target_sums->data,
				error);
}

static uint32_t add_owner(ExtentCover *cover, uint32_t source, uint64_t diagonal, bool is_whole)
{
	Owner owner = { source, diagonal, is_whole, false };

	if (!cover->is_joining)
		g_array_set_size(cover->reaches, 0);
	g_array_append_val(cover->owners, owner);
	return cover->owners->len;
}

/* Add an owner that covers zeros only. */
static uint32_t add_owner_of_zeros(ExtentCover *cover, uint32_t source, uint64_t diagonal)
{
	Owner owner = { source, diagonal, false, true };

	g_array_append_val(cover->owners, owner);
	return cover->owners->len;
}

static Reach *reach_at(const ExtentCover *cover, guint at)
{
	return &g_array_index(cover->reaches, Reach, at);
}

static void own(ExtentCover *cover, uint64_t first, uint64_t end, uint32_t owner)
{
	for (uint64_t block = first; block < end; block++)
		if (!owned(cover)[block])
			owned(cover)[block] = owner;
}

/*
 * Let @owner cover the part of [@first, @end) that the source shows; its blocks lie @diagonal before the
 * target's.
 */
static void own_shown(ExtentCover *cover, uint64_t first, uint64_t end, uint64_t diagonal,
		      const CoverSource *source, uint32_t owner)
{
	for (size_t i = 0; i < source->n_shown; i++) {
		uint64_t low = MAX(first - diagonal, source->shown[i].first);
		uint64_t high = MIN(end - diagonal, source->shown[i].end);

		Reach reach = { low + diagonal, high + diagonal, owner };

		if (low >= high)
			continue;
		own(cover, reach.first, reach.end, owner);
		g_array_append_val(cover->reaches, reach);
	}
}

void extent_cover_add_whole(ExtentCover *cover, const CoverSource *source)
{
	own_shown(cover, 0, cover->blocks, 0, source, add_owner(cover, source->id, 0, true));
}

/* A range of the target, beside the source's blocks that lie @diagonal before it. */
typedef struct {
	uint64_t low; /* both extents have blocks in [low, high) */
	uint64_t high;
	uint64_t first; /* the window whose sums are read */
	uint64_t end;
} Window;

static bool is_equal(const ExtentCover *cover, const Window *window, uint64_t block)
{
	uint64_t target = g_array_index(cover->target_sums, uint64_t, block);
	uint64_t source = g_array_index(cover->source_sums, uint64_t, block - window->first);

	return target == source && target != EXTENT_SUM_NONE;
}

static bool fill_window(ExtentCover *cover, Window *window, const Run *run, uint64_t margin,
			uint64_t source_bytenr, uint64_t diagonal, GError **error)
{
	uint64_t end = run->target_block + run->blocks;

	window->first = MAX(window->low, run->target_block - MIN(run->target_block, margin));
	window->end = MIN(window->high, end + margin);
	g_array_set_size(cover->source_sums, (guint)(window->end - window->first));
	return extent_sums_read(
		cover->sums, source_bytenr + (window->first - diagonal) * cover->block_bytes,
		window->end - window->first, (uint64_t *)cover->source_sums->data, error);
}

/* The equal blocks may continue beyond the window. */
static bool is_cut(const ExtentCover *cover, const Window *window)
{
	return (window->first > window->low && is_equal(cover, window, window->first)) ||
	       (window->end < window->high && is_equal(cover, window, window->end - 1));
}

/* Cover all equal ranges of the window of at least @least_blocks. */
static void own_window(ExtentCover *cover, const Window *window, uint64_t diagonal,
		       const CoverSource *source, uint64_t least_blocks, uint32_t owner)
{
	uint64_t block = window->first;

	while (block < window->end) {
		uint64_t end = block;

		while (end < window->end && is_equal(cover, window, end))
			end++;
		if (end - block >= least_blocks)
			own_shown(cover, block, end, diagonal, source, owner);
		block = MAX(end, block + 1);
	}
}

bool extent_cover_add(ExtentCover *cover, const Run *run, const CoverSource *source,
		      uint64_t least_blocks, GError **error)
{
	uint64_t diagonal = run->target_block - run->source_block;
	Window window = {
		.low = (int64_t)diagonal > 0 ? diagonal : 0,
		.high = MIN(cover->blocks, source->blocks + diagonal),
	};
	uint64_t margin = FOLLOW_BLOCKS;

	cover->looked_at = (CoverRange){ run->target_block, run->target_block };
	if (run->target_block < window.low || run->target_block >= window.high)
		return true;

	do {
		if (!fill_window(cover, &window, run, margin, source->bytenr, diagonal, error))
			return false;
		margin *= 8;
	} while (is_cut(cover, &window));

	cover->looked_at = (CoverRange){ window.first, window.end };
	own_window(cover, &window, diagonal, source, least_blocks,
		   add_owner(cover, source->id, diagonal, false));
	return true;
}

CoverRange extent_cover_looked_at(const ExtentCover *cover)
{
	return cover->looked_at;
}

/* The index of the last addition's reach that contains @block; UINT_MAX: none. */
static guint find_added(const ExtentCover *cover, uint64_t block)
{
	for (guint i = cover->reaches->len; i-- > 0;) {
		const Reach *reach = reach_at(cover, i);

		if (reach->owner != cover->owners->len)
			break;
		if (reach->first <= block && block < reach->end)
			return i;
	}

	return UINT_MAX;
}

bool extent_cover_added(const ExtentCover *cover, uint64_t block)
{
	return find_added(cover, block) != UINT_MAX;
}

void extent_cover_take_back(ExtentCover *cover, uint64_t block)
{
	guint at;

	if (owned(cover)[block] == cover->owners->len)
		owned(cover)[block] = 0;
	while ((at = find_added(cover, block)) != UINT_MAX) {
		Reach behind = *reach_at(cover, at);

		behind.first = block + 1;
		reach_at(cover, at)->end = block;
		g_array_append_val(cover->reaches, behind);
	}
}

static const Owner *owner_of(const ExtentCover *cover, uint64_t block)
{
	uint32_t number = owned(cover)[block];

	return number ? &g_array_index(cover->owners, Owner, number - 1) : NULL;
}

static bool goes_on(const Owner *one, const Owner *other)
{
	return one == other ||
	       (one && other && one->source == other->source && one->diagonal == other->diagonal);
}

uint64_t extent_cover_pieces(const ExtentCover *cover)
{
	const Owner *last = NULL;
	uint64_t n = 0;

	for (uint64_t block = 0; block < cover->blocks; block++) {
		const Owner *owner = owner_of(cover, block);

		n += owner && !goes_on(owner, last);
		last = owner;
	}

	return n;
}

uint64_t extent_cover_shortest(const ExtentCover *cover)
{
	const Owner *last = NULL;
	uint64_t blocks = 0, shortest = UINT64_MAX;

	for (uint64_t block = 0; block <= cover->blocks; block++) {
		const Owner *owner = block < cover->blocks ? owner_of(cover, block) : NULL;

		if (owner && goes_on(owner, last)) {
			blocks++;
			continue;
		}
		if (last && !last->is_whole && !last->is_zeros)
			shortest = MIN(shortest, blocks);
		blocks = owner != NULL;
		last = owner;
	}

	return shortest;
}

static int compare_reaches(const void *a, const void *b)
{
	const Reach *one = a;
	const Reach *other = b;

	if (one->first != other->first)
		return one->first < other->first ? -1 : 1;
	return (one->end < other->end) - (one->end > other->end);
}

void extent_cover_begin_join(ExtentCover *cover)
{
	g_array_set_size(cover->reaches, 0);
	cover->is_joining = true;
}

/* The reach with the last end among those from *next on that begin at or before @block. */
static Reach furthest(const ExtentCover *cover, uint64_t block, guint *next)
{
	Reach best = { 0 };

	for (; *next < cover->reaches->len && reach_at(cover, *next)->first <= block; ++*next)
		if (reach_at(cover, *next)->end > best.end)
			best = *reach_at(cover, *next);
	return best;
}

/* Give each range to the reach that covers the most from the point where the previous one ends. */
static void join(ExtentCover *cover)
{
	Reach best = { 0 };
	guint next = 0;

	for (uint64_t block = 0; block < cover->blocks; block++) {
		if (!owned(cover)[block])
			continue;
		/* Change only at the end of a reach. */
		if (block >= best.end)
			best = furthest(cover, block, &next);
		if (block < best.end)
			owned(cover)[block] = best.owner;
	}
}

void extent_cover_join(ExtentCover *cover)
{
	uint64_t pieces = extent_cover_pieces(cover);
	g_autoptr(GArray) before = g_array_copy(cover->owned);

	g_array_sort(cover->reaches, compare_reaches);
	join(cover);
	if (extent_cover_pieces(cover) >= pieces)
		memcpy(cover->owned->data, before->data, before->len * sizeof(uint32_t));
	cover->is_joining = false;
}

void extent_cover_remove(ExtentCover *cover, uint64_t block)
{
	owned(cover)[block] = 0;
}

static bool is_zeros(const ExtentCover *cover, uint64_t block)
{
	uint64_t sum = g_array_index(cover->target_sums, uint64_t, block);

	return sum != EXTENT_SUM_NONE && sum == extent_sums_of_zeros(cover->sums);
}

/* A single block is enough: no anchor chose it for its sum. */
void extent_cover_add_hole(ExtentCover *cover)
{
	uint32_t owner = add_owner_of_zeros(cover, RUN_HOLE, 0);

	for (uint64_t block = 0; block < cover->blocks; block++)
		if (is_zeros(cover, block))
			own(cover, block, block + 1, owner);
}

/* The end of the uncovered zeros that begin at @block, at most @most blocks. */
static uint64_t zeros_end(const ExtentCover *cover, uint64_t block, uint64_t most)
{
	uint64_t end = block;

	while (end < cover->blocks && end - block < most && !owned(cover)[end] &&
	       is_zeros(cover, end))
		end++;
	return end;
}

void extent_cover_add_zeros(ExtentCover *cover, uint32_t source, const CoverRange *zeros)
{
	uint64_t block = 0;

	while (block < cover->blocks) {
		uint64_t end = zeros_end(cover, block, zeros->end - zeros->first);

		if (end > block)
			own(cover, block, end,
			    add_owner_of_zeros(cover, source, block - zeros->first));
		block = MAX(end, block + 1);
	}
}

void extent_cover_remove_zeros(ExtentCover *cover)
{
	for (uint64_t block = 0; block < cover->blocks; block++) {
		uint32_t number = owned(cover)[block];

		if (number && g_array_index(cover->owners, Owner, number - 1).is_zeros)
			owned(cover)[block] = 0;
	}
}

bool extent_cover_gap(const ExtentCover *cover, uint64_t from, uint64_t *ret_first,
		      uint64_t *ret_end)
{
	while (from < cover->blocks && owned(cover)[from])
		from++;
	*ret_first = from;
	while (from < cover->blocks && !owned(cover)[from])
		from++;
	*ret_end = from;
	return *ret_end > *ret_first;
}

const uint64_t *extent_cover_sums(const ExtentCover *cover)
{
	return (const uint64_t *)(const void *)cover->target_sums->data;
}

bool extent_cover_is_data(const ExtentCover *cover, uint64_t sum)
{
	return sum != EXTENT_SUM_NONE && sum != extent_sums_of_zeros(cover->sums) &&
	       !extent_sums_are_read_zeros(cover->sums, sum);
}

bool extent_cover_has(const ExtentCover *cover, uint64_t first, uint64_t end)
{
	if (end > cover->blocks)
		return false;

	for (uint64_t block = first; block < end; block++)
		if (!owned(cover)[block])
			return false;

	return true;
}

CoverPiece extent_cover_piece(const ExtentCover *cover, uint64_t block, uint64_t end)
{
	uint32_t number = owned(cover)[block];
	const Owner *owner = &g_array_index(cover->owners, Owner, number - 1);
	CoverPiece piece = { block,          0, owner->source, owner->diagonal, owner->is_whole,
			     owner->is_zeros };

	while (block < end && owned(cover)[block] == number)
		block++;
	piece.blocks = block - piece.first;
	return piece;
}
