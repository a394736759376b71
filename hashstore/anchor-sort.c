/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchor-sort.h"

#include <glib.h>
#include <string.h>

/*
 * A radix sort from the high end, in place ("American flag sort": McIlroy, Bostic, McIlroy 1993).
 * Digits are cut from the distance to the least key of the range, so that a narrow range, as a
 * merge has it, is divided as well as a wide one, and equal digests cost one look.
 */
#define DIGIT_BITS_MIN   4
#define DIGIT_BITS_MAX   11
#define DIGIT_BITS_LARGE 8
#define DIGITS_MAX       (1 << DIGIT_BITS_MAX)

/* Anchors of which the processor's cache holds all. */
#define CACHED_MAX 65536

/* Anchors that a bucket should have: 2 to this. */
#define BUCKET_BITS 1

/* Fewer are sorted by insertion. */
#define INSERTION_MAX 20

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

static void sort_by_insertion(Anchor *anchors, uint32_t n_anchors)
{
	for (uint32_t i = 1; i < n_anchors; i++) {
		Anchor moved = anchors[i];
		uint32_t to = i;

		while (to > 0 && anchor_compare(&moved, &anchors[to - 1]) < 0) {
			anchors[to] = anchors[to - 1];
			to--;
		}
		anchors[to] = moved;
	}
}

/* Put each anchor into its bucket, of which there are @n_digits; @ret_ends are their ends. */
static inline void distribute(Anchor *anchors, uint32_t n_anchors, Key key, uint64_t least,
			      unsigned shift, unsigned n_digits, uint32_t *ret_ends)
{
	uint32_t next[DIGITS_MAX];
	uint32_t sum = 0;

	memset(next, 0, n_digits * sizeof(*next));
	for (uint32_t i = 0; i < n_anchors; i++)
		next[(key_of(&anchors[i], key) - least) >> shift]++;
	for (unsigned digit = 0; digit < n_digits; digit++) {
		uint32_t count = next[digit];

		next[digit] = sum;
		sum += count;
		ret_ends[digit] = sum;
	}

	for (unsigned digit = 0; digit < n_digits; digit++) {
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

static unsigned digit_bits(uint32_t n_anchors)
{
	int bits = 31 - __builtin_clz(n_anchors) - BUCKET_BITS;

	/* Of what is larger than the processor's cache no more buckets than its TLB can follow. */
	if (n_anchors > CACHED_MAX)
		return DIGIT_BITS_LARGE;

	return (unsigned)CLAMP(bits, DIGIT_BITS_MIN, DIGIT_BITS_MAX);
}

/* Recurses at most 16 deep for each of the keys, with 16 KiB of stack each. */
static void sort_by_key(Anchor *anchors, uint32_t n_anchors, Key key)
{
	uint64_t least = UINT64_MAX, most = 0;
	uint32_t ends[DIGITS_MAX];
	uint32_t begin = 0;
	unsigned bits, shift, n_digits;

	if (n_anchors <= INSERTION_MAX) {
		sort_by_insertion(anchors, n_anchors);
		return;
	}

	for (uint32_t i = 0; i < n_anchors; i++) {
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
	shift = bits - MIN(bits, digit_bits(n_anchors));
	n_digits = (unsigned)((most - least) >> shift) + 1;
	distribute(anchors, n_anchors, key, least, shift, n_digits, ends);
	for (unsigned digit = 0; digit < n_digits; digit++) {
		if (ends[digit] - begin > 1)
			sort_by_key(anchors + begin, ends[digit] - begin, key);
		begin = ends[digit];
	}
}

void anchor_sort(Anchor *anchors, size_t n_anchors)
{
	g_assert(n_anchors <= ANCHOR_SORT_MAX);
	sort_by_key(anchors, (uint32_t)n_anchors, KEY_DIGEST);
}

size_t anchor_unique(Anchor *anchors, size_t n_anchors)
{
	size_t begin = 1, n;

	/* Mostly there are none: nothing is moved then. */
	while (begin < n_anchors && (anchors[begin].digest != anchors[begin - 1].digest ||
				     anchor_compare(&anchors[begin], &anchors[begin - 1]) != 0))
		begin++;

	n = MIN(begin, n_anchors);
	for (size_t i = begin; i < n_anchors; i++) {
		if (anchor_compare(&anchors[n - 1], &anchors[i]) != 0)
			anchors[n++] = anchors[i];
	}

	return n;
}
