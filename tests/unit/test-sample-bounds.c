/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/sample-bounds.h"

#include <glib.h>
#include <math.h>
#include <stdbool.h>

#define CLUSTERS       400
#define CLUSTER_BLOCKS 16
#define BLOCK_BYTES    4096
#define KINDS          4096
#define SEEDS          500

/* Blocks of an invented filesystem, each known by its content. */
typedef struct {
	unsigned contents[CLUSTERS][CLUSTER_BLOCKS];
	uint64_t saved_bytes; /* if all is deduplicated */
	uint64_t zeros_bytes; /* of content 0 */
} Population;

typedef unsigned (*ContentOf)(GRand *chance, unsigned cluster, unsigned block);

static unsigned all_different(GRand *chance, unsigned cluster, unsigned block)
{
	return 1 + (cluster * CLUSTER_BLOCKS + block) % (KINDS - 1);
}

static unsigned pairs_in_two_clusters(GRand *chance, unsigned cluster, unsigned block)
{
	return 1 + cluster / 2 * CLUSTER_BLOCKS + block;
}

static unsigned few_that_are_everywhere(GRand *chance, unsigned cluster, unsigned block)
{
	return 1 + (unsigned)g_rand_int_range(chance, 0, 20);
}

static unsigned repeated_in_one_cluster(GRand *chance, unsigned cluster, unsigned block)
{
	return 1 + cluster;
}

static unsigned mixed(GRand *chance, unsigned cluster, unsigned block)
{
	switch (cluster % 4) {
	case 0:
		return 0;
	case 1:
		return few_that_are_everywhere(chance, cluster, block);
	case 2:
		return 2000 + cluster;
	default:
		return (unsigned)g_rand_int_range(chance, 100, KINDS);
	}
}

static void populate(Population *population, ContentOf content_of)
{
	g_autoptr(GRand) chance = g_rand_new_with_seed(7);
	unsigned counts[KINDS] = { 0 };

	*population = (Population){ 0 };
	for (unsigned i = 0; i < CLUSTERS; i++)
		for (unsigned j = 0; j < CLUSTER_BLOCKS; j++) {
			unsigned content = content_of(chance, i, j);

			population->contents[i][j] = content;
			if (content == 0)
				population->zeros_bytes += BLOCK_BYTES;
			else if (counts[content]++ > 0)
				population->saved_bytes += BLOCK_BYTES;
		}
}

static void take_sample(const Population *population, double fraction, uint32_t seed,
			SampleCount *ret, uint64_t *ret_zeros_bytes)
{
	g_autoptr(GRand) chance = g_rand_new_with_seed(seed);
	unsigned counts[KINDS] = { 0 };

	*ret = (SampleCount){ 0 };
	for (unsigned i = 0; i < CLUSTERS; i++) {
		if (g_rand_double(chance) >= fraction)
			continue;
		for (unsigned j = 0; j < CLUSTER_BLOCKS; j++)
			counts[population->contents[i][j]]++;
	}
	for (unsigned i = 1; i < KINDS; i++) {
		ret->bytes += counts[i] * (uint64_t)BLOCK_BYTES;
		ret->saved_bytes += (counts[i] - (counts[i] > 0)) * (uint64_t)BLOCK_BYTES;
		ret->single_bytes += (counts[i] == 1) * (uint64_t)BLOCK_BYTES;
	}
	*ret_zeros_bytes = counts[0] * (uint64_t)BLOCK_BYTES;
}

static SampleFrame frame_of(double fraction)
{
	const double cluster_bytes = CLUSTER_BLOCKS * BLOCK_BYTES;

	return (SampleFrame){ fraction, CLUSTERS * cluster_bytes * cluster_bytes,
			      (uint64_t)CLUSTERS * CLUSTER_BLOCKS * BLOCK_BYTES };
}

static bool holds(const Bounded *bounded, uint64_t truth)
{
	g_assert_cmpuint(bounded->low, <=, bounded->bytes);
	g_assert_cmpuint(bounded->bytes, <=, bounded->high);
	return bounded->low <= truth && truth <= bounded->high;
}

static void test_truth_lies_within_the_bounds_in_the_stated_share_of_seeds(void)
{
	static const ContentOf populations[] = { all_different, pairs_in_two_clusters,
						 few_that_are_everywhere, repeated_in_one_cluster,
						 mixed };
	static const double fractions[] = { 0.03, 0.0625, 0.25, 0.6 };
	g_autofree Population *population = g_new(Population, 1);

	for (size_t i = 0; i < G_N_ELEMENTS(populations); i++) {
		populate(population, populations[i]);
		for (size_t j = 0; j < G_N_ELEMENTS(fractions); j++) {
			SampleFrame frame = frame_of(fractions[j]);
			unsigned n_held = 0;

			for (uint32_t seed = 0; seed < SEEDS; seed++) {
				uint64_t zeros_bytes;
				SampleCount count;

				take_sample(population, fractions[j], seed, &count, &zeros_bytes);
				Bounded saved = sample_savings(&frame, &count);
				Bounded zeros = sample_total(&frame, zeros_bytes);
				n_held += holds(&saved, population->saved_bytes) &&
					  holds(&zeros, population->zeros_bytes);
			}
			g_assert_cmpfloat(n_held, >=, SAMPLE_CONFIDENCE * SEEDS);
		}
	}
}

static void test_bounds_say_something(void)
{
	g_autofree Population *population = g_new(Population, 1);
	SampleFrame frame = frame_of(0.6);
	uint64_t zeros_bytes;
	SampleCount count;

	populate(population, few_that_are_everywhere);
	take_sample(population, 0.6, 1, &count, &zeros_bytes);
	Bounded saved = sample_savings(&frame, &count);
	g_assert_cmpuint(saved.low, >, population->saved_bytes / 2);

	populate(population, all_different);
	take_sample(population, 0.6, 1, &count, &zeros_bytes);
	saved = sample_savings(&frame, &count);
	g_assert_cmpuint(saved.high, <, frame.total_bytes / 2);
}

static void test_all_of_the_data_is_no_sample(void)
{
	const SampleFrame frame = { 1, 1e12, 1000000 };
	const SampleCount count = { 900000, 300000, 500000 };
	Bounded saved = sample_savings(&frame, &count);
	Bounded zeros = sample_total(&frame, 100000);

	g_assert_cmpuint(saved.low, ==, 300000);
	g_assert_cmpuint(saved.bytes, ==, 300000);
	g_assert_cmpuint(saved.high, ==, 300000);
	g_assert_cmpuint(zeros.low, ==, 100000);
	g_assert_cmpuint(zeros.high, ==, 100000);
}

static void test_the_deviation_is_that_of_the_inequality(void)
{
	/* 2 exp(-2 t^2 / squares) is the chance that is left to each of the numbers. */
	SampleFrame frame = frame_of(0.25);
	double t = sample_deviation(&frame);

	g_assert_cmpfloat_with_epsilon(2 * exp(-2 * t * t / frame.squares) * SAMPLE_NUMBERS,
				       1 - SAMPLE_CONFIDENCE, 1e-9);
}

static void test_what_was_seen_is_the_least(void)
{
	/* One cluster of two equal blocks: the deviation alone would say nothing. */
	const SampleFrame frame = { 0.5, 8192.0 * 8192.0, 8192 };
	const SampleCount count = { 8192, 4096, 0 };
	Bounded saved = sample_savings(&frame, &count);

	g_assert_cmpuint(saved.low, ==, 4096);
	g_assert_cmpuint(saved.high, ==, 4096);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sample-bounds/truth-lies-within-the-bounds-in-the-stated-share-of-seeds",
			test_truth_lies_within_the_bounds_in_the_stated_share_of_seeds);
	g_test_add_func("/sample-bounds/bounds-say-something", test_bounds_say_something);
	g_test_add_func("/sample-bounds/all-of-the-data-is-no-sample",
			test_all_of_the_data_is_no_sample);
	g_test_add_func("/sample-bounds/the-deviation-is-that-of-the-inequality",
			test_the_deviation_is_that_of_the_inequality);
	g_test_add_func("/sample-bounds/what-was-seen-is-the-least",
			test_what_was_seen_is_the_least);
	return g_test_run();
}
