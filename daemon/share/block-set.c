/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/block-set.h"

typedef struct {
	uint64_t first;
	uint64_t end;
} Range;

struct BlockSet {
	GArray *ranges; /* Range, in order, neither touching nor overlapping */
};

BlockSet *block_set_new(void)
{
	BlockSet *set = g_new0(BlockSet, 1);

	set->ranges = g_array_new(false, false, sizeof(Range));
	return set;
}

void block_set_free(BlockSet *set)
{
	if (!set)
		return;

	g_array_unref(set->ranges);
	g_free(set);
}

static Range *range_at(const BlockSet *set, size_t i)
{
	return &g_array_index(set->ranges, Range, i);
}

/* The first range that ends at or after @block. */
static size_t find(const BlockSet *set, uint64_t block)
{
	size_t low = 0;
	size_t high = set->ranges->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (range_at(set, middle)->end < block)
			low = middle + 1;
		else
			high = middle;
	}

	return low;
}

void block_set_add(BlockSet *set, uint64_t first, uint64_t end)
{
	Range range = { first, end };
	size_t at = find(set, first);
	size_t after = at;

	if (first >= end)
		return;

	for (; after < set->ranges->len && range_at(set, after)->first <= end; after++) {
		range.first = MIN(range.first, range_at(set, after)->first);
		range.end = MAX(range.end, range_at(set, after)->end);
	}

	if (after == at) {
		g_array_insert_val(set->ranges, at, range);
		return;
	}

	*range_at(set, at) = range;
	if (after > at + 1)
		g_array_remove_range(set->ranges, at + 1, after - at - 1);
}

bool block_set_gap(const BlockSet *set, uint64_t first, uint64_t end, uint64_t *ret_first,
		   uint64_t *ret_end)
{
	size_t i = find(set, first);

	for (; i < set->ranges->len && range_at(set, i)->first <= first; i++)
		first = MAX(first, range_at(set, i)->end);

	*ret_first = first;
	*ret_end = i < set->ranges->len ? MIN(end, range_at(set, i)->first) : end;
	return first < end;
}

/* The range that @block lies in, or NULL. */
static const Range *range_of(const BlockSet *set, uint64_t block)
{
	size_t i = find(set, block + 1);

	return i < set->ranges->len && range_at(set, i)->first <= block ? range_at(set, i) : NULL;
}

uint64_t block_set_start(const BlockSet *set, uint64_t block)
{
	const Range *range = range_of(set, block);

	return range ? range->first : block;
}

uint64_t block_set_end(const BlockSet *set, uint64_t block)
{
	const Range *range = range_of(set, block);

	return range ? range->end : block;
}

void block_set_clear(BlockSet *set)
{
	g_array_set_size(set->ranges, 0);
}

bool block_set_gap_beside(const BlockSet *set, uint64_t block, uint64_t step, bool forward,
			  uint64_t low, uint64_t high, uint64_t *ret_first, uint64_t *ret_end)
{
	uint64_t first = forward ? block : MAX(low, block - MIN(block, step));
	uint64_t end = forward ? MIN(high, block + step) : block;

	while (first < end && block_set_gap(set, first, end, ret_first, ret_end)) {
		if (forward)
			return *ret_first == block;
		if (*ret_end == block)
			return true;
		first = *ret_end;
	}

	return false;
}
