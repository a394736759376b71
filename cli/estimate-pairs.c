/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate-pairs.h"

#include "hashstore/groups.h"

#define FEW_MEMBERS 8

/* A position and the ways by which it is found, in one number that sorts by position. */
#define WAYS_BITS 8
G_STATIC_ASSERT(ESTIMATE_WAYS <= WAYS_BITS);

typedef struct {
	uint64_t digest;
	uint64_t place;
} PlacedAnchor;

typedef struct {
	uint64_t diagonal;
	uint64_t place;
} PlacedPair;

struct EstimatePairs {
	const EstimateTask *task;
	Sorter *anchors; /* PlacedAnchor; NULL when they are paired */
	Sorter *pairs;   /* PlacedPair */
};

/* Positions with one digest. */
typedef struct {
	uint64_t digest;
	uint64_t first[FEW_MEMBERS]; /* places */
	uint64_t last;
	uint64_t n_members;
} Members;

static int compare(uint64_t one, uint64_t other, uint64_t one_place, uint64_t other_place)
{
	if (one != other)
		return one < other ? -1 : 1;
	return (one_place > other_place) - (one_place < other_place);
}

static int compare_anchors(const void *a, const void *b)
{
	const PlacedAnchor *one = a, *other = b;

	return compare(one->digest, other->digest, one->place, other->place);
}

static int compare_pairs(const void *a, const void *b)
{
	const PlacedPair *one = a, *other = b;

	return compare(one->diagonal, other->diagonal, one->place, other->place);
}

EstimatePairs *estimate_pairs_new(const EstimateTask *task)
{
	EstimatePairs *pairs = g_new0(EstimatePairs, 1);
	uint64_t memory_bytes = task->settings->memory_bytes;

	pairs->task = task;
	pairs->anchors = sorter_new(sizeof(PlacedAnchor), compare_anchors, memory_bytes / 4,
				    task->directory, task->stop);
	pairs->pairs = sorter_new(sizeof(PlacedPair), compare_pairs, memory_bytes / 4,
				  task->directory, task->stop);
	return pairs;
}

void estimate_pairs_free(EstimatePairs *pairs)
{
	if (!pairs)
		return;

	g_clear_pointer(&pairs->anchors, sorter_free);
	g_clear_pointer(&pairs->pairs, sorter_free);
	g_free(pairs);
}

bool estimate_pairs_add(EstimatePairs *pairs, uint64_t digest, uint64_t position, uint32_t ways,
			GError **error)
{
	PlacedAnchor anchor = { digest, position << WAYS_BITS | ways };

	return sorter_add(pairs->anchors, &anchor, error);
}

static bool pair(EstimatePairs *pairs, uint64_t source, uint64_t target, GError **error)
{
	uint64_t ways = source & target & ((1U << WAYS_BITS) - 1);
	uint64_t position = target >> WAYS_BITS;
	PlacedPair added = { position - (source >> WAYS_BITS), position << WAYS_BITS | ways };

	return added.diagonal == 0 || ways == 0 || sorter_add(pairs->pairs, &added, error);
}

/* Pair @place with members before it, and make it one. */
static bool add_member(EstimatePairs *pairs, Members *members, uint64_t place, GError **error)
{
	uint64_t n = members->n_members;
	uint64_t n_paired = n < FEW_MEMBERS ? n : 1;

	if (n == GROUP_MEMBERS_MAX)
		return true;
	for (uint64_t i = 0; i < n_paired; i++)
		if (!pair(pairs, members->first[i], place, error))
			return false;
	if (n >= FEW_MEMBERS && !pair(pairs, members->last, place, error))
		return false;

	if (n < FEW_MEMBERS)
		members->first[n] = place;
	members->last = place;
	members->n_members++;
	return true;
}

/*
 * The windows often choose one position: such are one anchor that is found by several ways, and come one
 * after another.
 */
static bool pair_anchors(EstimatePairs *pairs, GError **error)
{
	const PlacedAnchor *anchor;
	PlacedAnchor joined = { 0 };
	Members members = { 0 };
	bool is_joined = false;

	while (!atomic_load(pairs->task->stop)) {
		if (!sorter_next(pairs->anchors, (const void **)&anchor, error))
			return false;
		if (anchor && is_joined && anchor->digest == joined.digest &&
		    anchor->place >> WAYS_BITS == joined.place >> WAYS_BITS) {
			joined.place |= anchor->place;
			continue;
		}

		if (is_joined && joined.digest != members.digest)
			members = (Members){ .digest = joined.digest };
		if (is_joined && !add_member(pairs, &members, joined.place, error))
			return false;
		if (!anchor)
			return true;
		joined = *anchor;
		is_joined = true;
	}

	return true;
}

bool estimate_pairs_sort(EstimatePairs *pairs, GError **error)
{
	if (!sorter_sort(pairs->anchors, error) || !pair_anchors(pairs, error))
		return false;

	g_clear_pointer(&pairs->anchors, sorter_free);
	return sorter_sort(pairs->pairs, error);
}

bool estimate_pairs_next(EstimatePairs *pairs, SequencePair *ret, bool *ret_is_pair, GError **error)
{
	const PlacedPair *found;

	if (!sorter_next(pairs->pairs, (const void **)&found, error))
		return false;
	*ret_is_pair = found;
	if (found)
		*ret = (SequencePair){
			.diagonal = found->diagonal,
			.target = found->place >> WAYS_BITS,
			.ways = (uint32_t)(found->place & ((1U << WAYS_BITS) - 1)),
		};
	return true;
}
