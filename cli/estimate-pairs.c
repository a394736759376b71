/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate-pairs.h"

#include "hashstore/groups.h"

#define FEW_MEMBERS 8

/* Beyond these an extent has the 9th, 17th, 33rd and so on, too. */
#define SOURCES_MAX (FEW_MEMBERS + 16)
G_STATIC_ASSERT(GROUP_MEMBERS_MAX <= FEW_MEMBERS << 16);

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

/* Positions with one digest that one way finds. */
typedef struct {
	uint64_t sources[SOURCES_MAX];
	size_t n_sources;
	uint64_t last;
	uint64_t n_members;
} Members;

typedef struct {
	uint64_t digest;
	Members by_way[ESTIMATE_WAYS];
} DigestGroup;

/* What a position is paired with, each source once, with the ways that have it. */
typedef struct {
	struct {
		uint64_t position;
		uint32_t ways;
	} sources[ESTIMATE_WAYS * (SOURCES_MAX + 1)];
	size_t n;
} Partners;

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

static void add_partner(Partners *partners, uint64_t position, unsigned way)
{
	size_t i = 0;

	while (i < partners->n && partners->sources[i].position != position)
		i++;
	if (i == partners->n) {
		partners->sources[i].position = position;
		partners->sources[i].ways = 0;
		partners->n++;
	}
	partners->sources[i].ways |= 1U << way;
}

/* Pair @position with members before it, by one way, and make it one. */
static void add_member(const EstimatePairs *pairs, Members *members, uint64_t position,
		       unsigned way, Partners *partners)
{
	uint64_t n = members->n_members;
	bool has_all = n < FEW_MEMBERS || estimate_is_by_checksums(pairs->task);

	if (n == GROUP_MEMBERS_MAX)
		return;
	for (size_t i = 0; i < (has_all ? members->n_sources : 1); i++)
		add_partner(partners, members->sources[i], way);
	if (n >= FEW_MEMBERS)
		add_partner(partners, members->last, way);

	if (n < FEW_MEMBERS || (n & (n - 1)) == 0)
		members->sources[members->n_sources++] = position;
	members->last = position;
	members->n_members++;
}

static bool pair(EstimatePairs *pairs, DigestGroup *group, uint64_t place, GError **error)
{
	uint64_t position = place >> WAYS_BITS;
	Partners partners;

	partners.n = 0;
	for (unsigned way = 0; way < ESTIMATE_WAYS; way++)
		if (place >> way & 1)
			add_member(pairs, &group->by_way[way], position, way, &partners);

	for (size_t i = 0; i < partners.n; i++) {
		PlacedPair added = { position - partners.sources[i].position,
				     position << WAYS_BITS | partners.sources[i].ways };

		if (added.diagonal > 0 && !sorter_add(pairs->pairs, &added, error))
			return false;
	}
	return true;
}

static void begin_group(DigestGroup *group, uint64_t digest)
{
	group->digest = digest;
	for (unsigned way = 0; way < ESTIMATE_WAYS; way++)
		group->by_way[way].n_sources = group->by_way[way].n_members = 0;
}

/*
 * The windows often choose one position: such are one anchor that is found by several ways, and come one
 * after another.
 */
static bool pair_anchors(EstimatePairs *pairs, GError **error)
{
	const PlacedAnchor *anchor;
	PlacedAnchor joined = { 0 };
	DigestGroup group = { 0 };
	bool is_joined = false;

	while (!atomic_load(pairs->task->stop)) {
		if (!sorter_next(pairs->anchors, (const void **)&anchor, error))
			return false;
		if (anchor && is_joined && anchor->digest == joined.digest &&
		    anchor->place >> WAYS_BITS == joined.place >> WAYS_BITS) {
			joined.place |= anchor->place;
			continue;
		}

		if (is_joined && joined.digest != group.digest)
			begin_group(&group, joined.digest);
		if (is_joined && !pair(pairs, &group, joined.place, error))
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
