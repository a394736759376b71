/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchor-sort.h"

#include <glib.h>
#include <stdbool.h>

/*
 * A radix sort from the high end, in place ("American flag sort": McIlroy, Bostic, McIlroy 1993).
 * Digits are cut from the distance to the least key of the range, so that a narrow range, as a
 * merge has it, is divided as well as a wide one, and equal digests cost one look.
 */
#define DIGIT_BITS 8
#define DIGITS     (1 << DIGIT_BITS)

/* Fewer are sorted by insertion. */
#define INSERTION_MAX 24

typedef enum {
	KEY_DIGEST,
	KEY_PLACE, /* object and block */
} Key;

static inline uint64_t key_of(const Anchor *anchor, Key key)
{
	if (key == KEY_DIGEST)
		return anchor->digest;

	return (uint64_t)anchor->object << 32 | anchor->block;
}

static void sort_by_insertion(Anchor *anchors, size_t n_anchors)
{
	for (size_t i = 1; i < n_anchors; i++) {
		Anchor moved = anchors[i];
		size_t to = i;

		while (to > 0 && anchor_compare(&moved, &anchors[to - 1]) < 0) {
			anchors[to] = anchors[to - 1];
			to--;
		}
		anchors[to] = moved;
	}
}

/* Put each anchor into its bucket; @ret_ends are the buckets' ends. */
static inline void distribute(Anchor *anchors, size_t n_anchors, Key key, uint64_t least,
			      unsigned shift, size_t *ret_ends)
{
	size_t next[DIGITS];
	size_t counts[DIGITS] = { 0 };
	size_t sum = 0;

	for (size_t i = 0; i < n_anchors; i++)
		counts[(key_of(&anchors[i], key) - least) >> shift]++;
	for (unsigned digit = 0; digit < DIGITS; digit++) {
		next[digit] = sum;
		sum += counts[digit];
		ret_ends[digit] = sum;
	}

	for (unsigned digit = 0; digit < DIGITS; digit++) {
		while (next[digit] < ret_ends[digit]) {
			Anchor moved = anchors[next[digit]];
			size_t to = (key_of(&moved, key) - least) >> shift;

			while (to != digit) {
				Anchor other = anchors[next[to]];

				anchors[next[to]++] = moved;
				moved = other;
				to = (key_of(&moved, key) - least) >> shift;
			}
			anchors[next[digit]++] = moved;
		}
	}
}

/* Recurses at most 8 deep for each of the keys. */
static void sort_by_key(Anchor *anchors, size_t n_anchors, Key key)
{
	uint64_t least = UINT64_MAX, most = 0;
	size_t ends[DIGITS];
	size_t begin = 0;
	unsigned bits;

	if (n_anchors <= INSERTION_MAX) {
		sort_by_insertion(anchors, n_anchors);
		return;
	}

	for (size_t i = 0; i < n_anchors; i++) {
		uint64_t value = key_of(&anchors[i], key);

		least = MIN(least, value);
		most = MAX(most, value);
	}
	if (least == most) {
		if (key == KEY_DIGEST)
			sort_by_key(anchors, n_anchors, KEY_PLACE);
		return;
	}

	bits = 64 - (unsigned)__builtin_clzll(most - least);
	distribute(anchors, n_anchors, key, least, bits > DIGIT_BITS ? bits - DIGIT_BITS : 0, ends);
	for (unsigned digit = 0; digit < DIGITS; digit++) {
		if (ends[digit] - begin > 1)
			sort_by_key(anchors + begin, ends[digit] - begin, key);
		begin = ends[digit];
	}
}

void anchor_sort(Anchor *anchors, size_t n_anchors)
{
	sort_by_key(anchors, n_anchors, KEY_DIGEST);
}

size_t anchor_unique(Anchor *anchors, size_t n_anchors)
{
	size_t n = 0;

	for (size_t i = 0; i < n_anchors; i++) {
		if (n == 0 || anchor_compare(&anchors[n - 1], &anchors[i]) != 0)
			anchors[n++] = anchors[i];
	}

	return n;
}
