/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/winnow.h"

#include <glib.h>
#include <string.h>
#include <xxhash.h>

/* The seed separates digests of windows from those of whole objects. */
#define WINDOW_SEED UINT64_C(0x616e63686f72)

void winnow_init(Winnow *winnow, uint32_t anchor_blocks, uint32_t window_anchors)
{
	memset(winnow, 0, sizeof(*winnow));
	winnow->anchor_blocks = anchor_blocks;
	winnow->window_anchors = window_anchors;
}

bool winnow_is_valid(const Winnow *winnow)
{
	uint64_t k = winnow->anchor_blocks;
	uint64_t n_hashes = winnow->n_sums < k ? 0 : winnow->n_sums - k + 1;

	return winnow->n_sums <= winnow->next_block &&
	       (winnow->n_hashes == n_hashes || winnow->window_anchors == 0) &&
	       (winnow->last_choice == 0 || winnow->last_choice < winnow->n_hashes) &&
	       winnow->repeats_until <= winnow->n_hashes + winnow->window_anchors;
}

/* The slot of @number in a ring of @size.  Dividing 64 bits takes many processors far longer than 32 bits. */
static uint32_t slot_of(uint64_t number, uint32_t size)
{
	return number <= UINT32_MAX ? (uint32_t)number % size : (uint32_t)(number % size);
}

/* The digest of the last k sums, never 0, which stands for runs of zeros. */
static uint64_t window_digest(const Winnow *winnow)
{
	uint64_t ordered[WINNOW_ANCHOR_BLOCKS_MAX];
	uint32_t k = winnow->anchor_blocks;
	uint32_t oldest = slot_of(winnow->n_sums, k);
	uint64_t digest;

	memcpy(ordered, winnow->sums + oldest, (k - oldest) * sizeof(ordered[0]));
	memcpy(ordered + k - oldest, winnow->sums, oldest * sizeof(ordered[0]));

	digest = XXH3_64bits_withSeed(ordered, k * sizeof(ordered[0]), WINDOW_SEED);
	return digest ? digest : 1;
}

static uint64_t hash_at(const Winnow *winnow, uint64_t number)
{
	return winnow->hashes[slot_of(number, winnow->window_anchors)];
}

static bool is_repeated(const Winnow *winnow, uint64_t number, uint64_t first)
{
	uint64_t hash = hash_at(winnow, number);

	for (uint64_t i = first; i < winnow->n_hashes; i++)
		if (i != number && hash_at(winnow, i) == hash)
			return true;

	return false;
}

/* Find the last position of the smallest hash from @first on; with @only_unique, of those that occur once. */
static bool smallest(const Winnow *winnow, uint64_t first, bool only_unique, uint64_t *ret)
{
	uint32_t w = winnow->window_anchors, slot = slot_of(first, w);
	uint64_t least = UINT64_MAX;
	bool found = false;

	for (uint64_t i = first; i < winnow->n_hashes; i++, slot = slot + 1 < w ? slot + 1 : 0) {
		if (winnow->hashes[slot] > least)
			continue;
		if (only_unique && is_repeated(winnow, i, first))
			continue;
		*ret = i;
		least = winnow->hashes[slot];
		found = true;
	}

	return found;
}

static bool is_kept(const Winnow *winnow, uint64_t number)
{
	return winnow->kept >> (winnow->n_hashes - 1 - number) & 1;
}

/* True if a hash with this digest was kept, from @first on. */
static bool has_kept_digest(const Winnow *winnow, uint64_t digest, uint64_t first)
{
	for (uint64_t i = first; i < winnow->n_hashes; i++)
		if (is_kept(winnow, i) && hash_at(winnow, i) == digest)
			return true;

	return false;
}

static void keep_hash(Winnow *winnow, uint64_t number, WinnowKeep keep, void *data)
{
	winnow->last_choice = number;
	if (is_kept(winnow, number))
		return;

	winnow->kept |= UINT64_C(1) << (winnow->n_hashes - 1 - number);
	keep(hash_at(winnow, number), winnow->next_block - winnow->n_sums + number, data);
}

/* Choose among the hashes from @first to the newest. */
static void choose(Winnow *winnow, uint64_t first, WinnowKeep keep, void *data)
{
	bool has_repeats = winnow->n_hashes <= winnow->repeats_until;
	uint64_t chosen = 0;

	/* The previous choice stands unless the newest hash is smaller. */
	if (winnow->n_hashes - 1 > winnow->repeats_until && winnow->n_hashes > first + 1 &&
	    winnow->last_choice >= first && winnow->kept &&
	    hash_at(winnow, winnow->n_hashes - 1) > hash_at(winnow, winnow->last_choice))
		return;

	if (smallest(winnow, first, has_repeats, &chosen)) {
		keep_hash(winnow, chosen, keep, data);
		return;
	}

	/* All hashes are repeated: keep the smallest digest once per w. */
	smallest(winnow, first, false, &chosen);
	if (!has_kept_digest(winnow, hash_at(winnow, chosen), first))
		keep_hash(winnow, chosen, keep, data);
}

/* Update how long the newest hash will be in a window with an equal one. */
static void note_repeats(Winnow *winnow, uint64_t hash)
{
	uint32_t w = winnow->window_anchors, slot = slot_of(winnow->n_hashes, w);
	uint64_t oldest = winnow->n_hashes < w ? 0 : winnow->n_hashes + 1 - w;

	for (uint64_t i = winnow->n_hashes; i > oldest; i--) {
		slot = slot > 0 ? slot - 1 : w - 1;
		if (winnow->hashes[slot] != hash)
			continue;
		winnow->repeats_until = MAX(winnow->repeats_until, i - 1 + w);
		return;
	}
}

void winnow_add(Winnow *winnow, uint64_t sum, WinnowKeep keep, void *data)
{
	uint32_t w = winnow->window_anchors;
	uint64_t hash;

	winnow->sums[winnow->n_sums % winnow->anchor_blocks] = sum;
	winnow->n_sums++;
	winnow->next_block++;
	if (winnow->n_sums < winnow->anchor_blocks)
		return;

	hash = window_digest(winnow);
	note_repeats(winnow, hash);
	winnow->hashes[winnow->n_hashes % w] = hash;
	winnow->n_hashes++;
	winnow->kept <<= 1;
	if (winnow->n_hashes >= w)
		choose(winnow, winnow->n_hashes - w, keep, data);
}

void winnow_break(Winnow *winnow, uint64_t blocks, WinnowKeep keep, void *data)
{
	if (winnow->n_hashes > 0 && winnow->n_hashes < winnow->window_anchors)
		choose(winnow, 0, keep, data);

	winnow->next_block += blocks;
	winnow->n_sums = 0;
	winnow->n_hashes = 0;
	winnow->repeats_until = 0;
	winnow->last_choice = 0;
	winnow->kept = 0;
}
