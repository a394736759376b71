/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/snapshots/block-holders.h"

/* A power of two, as all that follow. */
#define PLACES_LEAST 4096

/* No block of a tree is smaller. */
#define BLOCK_BYTES_LEAST 4096

struct BlockHolders {
	RootSets *sets;
	uint64_t *blocks; /* addresses; 0: the place is free */
	RootSet *holders;
	size_t n_places;
	size_t n_used;
};

static void make_places(BlockHolders *holders, size_t n)
{
	holders->n_places = n;
	holders->n_used = 0;
	holders->blocks = g_new0(uint64_t, n);
	holders->holders = g_new0(RootSet, n);
}

BlockHolders *block_holders_new(RootSets *sets)
{
	BlockHolders *holders = g_new0(BlockHolders, 1);

	holders->sets = sets;
	make_places(holders, PLACES_LEAST);
	return holders;
}

void block_holders_free(BlockHolders *holders)
{
	if (!holders)
		return;

	g_free(holders->blocks);
	g_free(holders->holders);
	g_free(holders);
}

/* The place that has the block, or the free one where it belongs. */
static size_t find_place(const BlockHolders *holders, uint64_t bytenr)
{
	/* The upper half of a product with an odd constant near 2^64 / golden ratio. */
	uint64_t mixed = bytenr / BLOCK_BYTES_LEAST * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(mixed >> 32) & (holders->n_places - 1);

	while (holders->blocks[at] != 0 && holders->blocks[at] != bytenr)
		at = (at + 1) & (holders->n_places - 1);
	return at;
}

static void put(BlockHolders *holders, uint64_t bytenr, RootSet set)
{
	size_t at = find_place(holders, bytenr);

	holders->n_used += holders->blocks[at] == 0;
	holders->blocks[at] = bytenr;
	holders->holders[at] = root_sets_union(holders->sets, holders->holders[at], set);
}

static void grow(BlockHolders *holders)
{
	g_autofree uint64_t *blocks = holders->blocks;
	g_autofree RootSet *sets = holders->holders;
	size_t n = holders->n_places;

	make_places(holders, n * 2);
	for (size_t i = 0; i < n; i++)
		if (blocks[i] != 0)
			put(holders, blocks[i], sets[i]);
}

void block_holders_add(BlockHolders *holders, uint64_t bytenr, RootSet set)
{
	if (bytenr == 0)
		return;

	put(holders, bytenr, set);
	if (holders->n_used > holders->n_places / 4 * 3)
		grow(holders);
}

bool block_holders_find(const BlockHolders *holders, uint64_t bytenr, RootSet *ret)
{
	size_t at = find_place(holders, bytenr);

	*ret = holders->holders[at];
	return bytenr != 0 && holders->blocks[at] == bytenr;
}

GArray *block_holders_counts(const BlockHolders *holders)
{
	GArray *counts = g_array_new(false, true, sizeof(uint64_t));

	g_array_set_size(counts, root_sets_count(holders->sets));
	for (size_t i = 0; i < holders->n_places; i++)
		if (holders->blocks[i] != 0)
			g_array_index(counts, uint64_t, holders->holders[i])++;
	return counts;
}
