/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchor-sort.h"

#include <glib.h>
#include <string.h>

/*
 * An in-place radix sort from the high end ("American flag sort": McIlroy, Bostic, McIlroy 1993).  Digits are
 * cut from the distance to the least key of the range.  So the narrow range of a merge is divided as well as a
 * wide one, and equal digests cost one look.
 */
#define DIGIT_BITS_MIN   4
#define DIGIT_BITS_MAX   11
#define DIGIT_BITS_LARGE 8
#define DIGITS_MAX       (1 << DIGIT_BITS_MAX)

/* Anchors that fit the processor's cache. */
#define CACHED_MAX 65536

/* The binary logarithm of the intended number of anchors per bucket. */
#define BUCKET_BITS 1

/* Fewer anchors are sorted by insertion. */
#define INSERTION_MAX 20

/* One cache line: more buckets are written than the processor prefetches by itself. */
#define PREFETCH_ANCHORS 4

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

/* Cuts keys from @least on into digits. */
typedef struct {
	uint64_t least;
	unsigned shift;
	unsigned n_digits;
} Digits;

static inline size_t digit_of(const Anchor *anchor, Key key, const Digits *digits)
{
	return (key_of(anchor, key) - digits->least) >> digits->shift;
}

static unsigned digit_bits(uint32_t n_anchors)
{
	int bits = 31 - __builtin_clz(n_anchors) - BUCKET_BITS;

	/* Beyond the processor's cache, use no more buckets than the TLB covers. */
	if (n_anchors > CACHED_MAX)
		return DIGIT_BITS_LARGE;

	return (unsigned)CLAMP(bits, DIGIT_BITS_MIN, DIGIT_BITS_MAX);
}

/* Choose digits for @n_anchors with keys from @least to @most. */
static Digits choose_digits(uint32_t n_anchors, uint64_t least, uint64_t most)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll((most - least) | 1);
	Digits digits = { .least = least };

	digits.shift = bits - MIN(bits, digit_bits(n_anchors));
	digits.n_digits = (unsigned)((most - least) >> digits.shift) + 1;

	return digits;
}

/* Turn the buckets' sizes in @counts into their begins, and set their ends. */
static void begin_buckets(uint32_t *counts, unsigned n_digits, uint32_t *ret_ends)
{
	uint32_t sum = 0;

	for (unsigned digit = 0; digit < n_digits; digit++) {
		uint32_t count = counts[digit];

		counts[digit] = sum;
		sum += count;
		ret_ends[digit] = sum;
	}
}

/* Move each anchor into its bucket; @ret_ends are the ends of the buckets. */
static inline void distribute(Anchor *anchors, uint32_t n_anchors, Key key, const Digits *digits,
			      uint32_t *ret_ends)
{
	uint32_t next[DIGITS_MAX];

	memset(next, 0, digits->n_digits * sizeof(*next));
	for (uint32_t i = 0; i < n_anchors; i++)
		next[digit_of(&anchors[i], key, digits)]++;
	begin_buckets(next, digits->n_digits, ret_ends);

	for (unsigned digit = 0; digit < digits->n_digits; digit++) {
		while (next[digit] < ret_ends[digit]) {
			Anchor moved = anchors[next[digit]];
			size_t to = digit_of(&moved, key, digits);

			while (to != digit) {
				Anchor other = anchors[next[to]];

				__builtin_prefetch(&anchors[next[to] + PREFETCH_ANCHORS], 1);
				anchors[next[to]++] = moved;
				moved = other;
				to = digit_of(&moved, key, digits);
			}
			anchors[next[digit]++] = moved;
		}
	}
}

static void sort_by_key(Anchor *anchors, uint32_t n_anchors, Key key);

static void sort_buckets(Anchor *anchors, const uint32_t *ends, unsigned n_digits, Key key)
{
	uint32_t begin = 0;

	for (unsigned digit = 0; digit < n_digits; digit++) {
		if (ends[digit] - begin > 1)
			sort_by_key(anchors + begin, ends[digit] - begin, key);
		begin = ends[digit];
	}
}

/* Recurses at most 16 levels per key, with 16 KiB of stack each. */
static void sort_by_key(Anchor *anchors, uint32_t n_anchors, Key key)
{
	uint64_t least = UINT64_MAX, most = 0;
	uint32_t ends[DIGITS_MAX];
	Digits digits;

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

	digits = choose_digits(n_anchors, least, most);
	distribute(anchors, n_anchors, key, &digits, ends);
	sort_buckets(anchors, ends, digits.n_digits, key);
}

void anchor_sort(Anchor *anchors, size_t n_anchors)
{
	g_assert(n_anchors <= ANCHOR_SORT_MAX);
	sort_by_key(anchors, (uint32_t)n_anchors, KEY_DIGEST);
}

/* Like distribute(), but copies the anchors, which is faster. */
static void distribute_runs(const AnchorRun *runs, size_t n_runs, const Digits *digits, Anchor *to,
			    uint32_t *ret_ends)
{
	uint32_t next[DIGITS_MAX] = { 0 };

	for (size_t run = 0; run < n_runs; run++) {
		for (size_t i = 0; i < runs[run].n_anchors; i++)
			next[digit_of(&runs[run].anchors[i], KEY_DIGEST, digits)]++;
	}
	begin_buckets(next, digits->n_digits, ret_ends);

	for (size_t run = 0; run < n_runs; run++) {
		for (size_t i = 0; i < runs[run].n_anchors; i++) {
			const Anchor *anchor = &runs[run].anchors[i];

			to[next[digit_of(anchor, KEY_DIGEST, digits)]++] = *anchor;
		}
	}
}

void anchor_sort_runs(const AnchorRun *runs, size_t n_runs, Anchor *to)
{
	uint64_t least = UINT64_MAX, most = 0;
	uint32_t ends[DIGITS_MAX];
	size_t n_anchors = 0;
	Digits digits;

	for (size_t i = 0; i < n_runs; i++) {
		if (runs[i].n_anchors == 0)
			continue;
		least = MIN(least, runs[i].anchors[0].digest);
		most = MAX(most, runs[i].anchors[runs[i].n_anchors - 1].digest);
		n_anchors += runs[i].n_anchors;
	}
	g_assert(n_anchors <= ANCHOR_SORT_MAX);
	if (n_anchors == 0)
		return;

	digits = choose_digits((uint32_t)n_anchors, least, most);
	distribute_runs(runs, n_runs, &digits, to, ends);
	sort_buckets(to, ends, digits.n_digits, KEY_DIGEST);
}

size_t anchor_unique(Anchor *anchors, size_t n_anchors)
{
	size_t begin = 1, n;

	/* Most arrays have no equal anchors: then nothing is moved. */
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
