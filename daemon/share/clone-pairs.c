/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/clone-pairs.h"

#include "common/content/run.h"
#include "daemon/context/compare-uint64.h"

#include <string.h>

struct ClonePairs {
	Sorter *sorter;
	GByteArray *touched; /* one bit per object */
	ClonePair last;      /* given out */
	bool has_last;
};

/* Pairs of the same blocks come one after another, in whatever files they were found. */
static int compare_pairs(const void *a, const void *b)
{
	const ClonePair *one = a;
	const ClonePair *other = b;
	int order = compare_uint64(one->target_place, other->target_place);

	if (!order)
		order = compare_uint64(other->blocks, one->blocks);
	if (!order)
		order = compare_uint64(one->source_place, other->source_place);
	if (!order)
		order = compare_uint64(one->target, other->target);
	return order ? order : compare_uint64(one->target_block, other->target_block);
}

ClonePairs *clone_pairs_new(size_t memory_bytes, const char *directory, const atomic_bool *stop)
{
	ClonePairs *pairs = g_new0(ClonePairs, 1);

	pairs->sorter = sorter_new(sizeof(ClonePair), compare_pairs, memory_bytes, directory, stop);
	pairs->touched = g_byte_array_new();
	return pairs;
}

void clone_pairs_free(ClonePairs *pairs)
{
	if (!pairs)
		return;

	sorter_free(pairs->sorter);
	g_byte_array_unref(pairs->touched);
	g_free(pairs);
}

static bool is_clone(const DedupeWindow *window, BlockState state, size_t i)
{
	return window->states[i] == state && window->target_shared[i];
}

/* The pair that begins with block @i of the window. */
static ClonePair begin_pair(const DedupeWindow *window, size_t i)
{
	uint32_t block_bytes = window->block_bytes;
	uint64_t target_block = window->first + i;
	bool is_hole = dedupe_window_becomes_hole(window, i);

	return (ClonePair){
		.target_place = window->target_places[i] / block_bytes,
		.source_place = is_hole ? CLONE_PLACE_HOLE : window->source_places[i] / block_bytes,
		.target_block = target_block,
		.source_block = window->source ? target_block - window->diagonal : 0,
		.target = window->target->id,
		.source = window->source ? window->source->id : RUN_HOLE,
		.source_is_shared = !is_hole && window->source_shared[i],
	};
}

/* Whether @next continues @pair on both sides, and is like it. */
static bool continues(const ClonePair *pair, const ClonePair *next)
{
	bool is_hole = pair->source_place == CLONE_PLACE_HOLE;

	return next->target_place == pair->target_place + pair->blocks &&
	       next->source_is_shared == pair->source_is_shared &&
	       next->source_place ==
		       (is_hole ? CLONE_PLACE_HOLE : pair->source_place + pair->blocks);
}

bool clone_pairs_add_window(ClonePairs *pairs, DedupeWindow *window, BlockState state,
			    GError **error)
{
	for (size_t i = 0; i < window->n;) {
		ClonePair pair;

		if (!is_clone(window, state, i)) {
			i++;
			continue;
		}

		pair = begin_pair(window, i);
		while (i < window->n && is_clone(window, state, i)) {
			ClonePair next = begin_pair(window, i);

			if (!continues(&pair, &next))
				break;
			window->states[i++] = BLOCK_DEFERRED;
			pair.blocks++;
		}
		if (!sorter_add(pairs->sorter, &pair, error))
			return false;
	}

	return true;
}

void clone_pairs_touch(ClonePairs *pairs, uint32_t object)
{
	guint byte = object / 8;

	if (byte >= pairs->touched->len) {
		guint old = pairs->touched->len;

		g_byte_array_set_size(pairs->touched, byte + 1);
		memset(pairs->touched->data + old, 0, byte + 1 - old);
	}
	pairs->touched->data[byte] |= (uint8_t)(1u << object % 8);
}

bool clone_pairs_is_touched(const ClonePairs *pairs, uint32_t object)
{
	guint byte = object / 8;

	return byte < pairs->touched->len && pairs->touched->data[byte] & 1u << object % 8;
}

uint64_t clone_pairs_count(const ClonePairs *pairs)
{
	return sorter_count(pairs->sorter);
}

bool clone_pairs_sort(ClonePairs *pairs, GError **error)
{
	pairs->has_last = false;
	return sorter_sort(pairs->sorter, error);
}

bool clone_pairs_next(ClonePairs *pairs, const ClonePair **ret, GError **error)
{
	const ClonePair *next;

	do {
		if (!sorter_next(pairs->sorter, (const void **)&next, error))
			return false;
	} while (next && pairs->has_last && next->target_place == pairs->last.target_place &&
		 next->source_place == pairs->last.source_place &&
		 next->blocks == pairs->last.blocks);

	pairs->has_last = next;
	if (next)
		pairs->last = *next;
	*ret = next ? &pairs->last : NULL;
	return true;
}
