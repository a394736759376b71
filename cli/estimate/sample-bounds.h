/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * SampleBounds - extrapolates from a sample of the data to all of it, with bounds.
 *
 * The data is cut into clusters of at most 1 MiB of one file each.  Every cluster is in the sample
 * with the same probability q, independently.  Let s be what blocks of the sample would save among
 * themselves.  If a block has m copies, m - 1 of them can be freed.  The expected savings E in the
 * sample lie between q^2 (m - 1), for two copies in two clusters, and q (m - 1), for copies in one
 * cluster.  So the truth lies between E / q and E / q^2. s differs from E, but adding or removing
 * one cluster changes s by at most its own bytes.  The inequality of bounded differences bounds the
 * error (McDiarmid, "On the method of bounded differences", 1989).  |s - E| exceeds t with a
 * probability of at most 2 exp(-2 t^2 / sum of squares of the clusters' bytes).  The number within
 * these bounds is the guaranteed-error estimator of distinct values (Charikar, Chaudhuri, Motwani,
 * Narasayya, "Towards estimation error guarantees for distinct values", PODS 2000).  It counts a
 * block that occurs once in the sample as sqrt(1/q) different ones.
 *
 * Pure.  Thread: any.
 */

/* All bounds of one estimate hold together with at least this probability, so each one with a higher one. */
#define SAMPLE_CONFIDENCE 0.95

/* The number of bounds that have to hold together. */
#define SAMPLE_NUMBERS 8

typedef struct {
	uint64_t bytes;
	uint64_t low;
	uint64_t high;
} Bounded;

typedef struct {
	double fraction;      /* q, above 0 and at most 1 */
	double squares;       /* sum of the squared bytes of all clusters, read or not */
	uint64_t total_bytes; /* of all clusters */
} SampleFrame;

/* Blocks of one size in the sample. */
typedef struct {
	uint64_t bytes;        /* of all of them */
	uint64_t saved_bytes;  /* of blocks that equal an earlier one */
	uint64_t single_bytes; /* of blocks without an equal */
} SampleCount;

/* A known number, without uncertainty. */
Bounded bounded_exactly(uint64_t bytes);

/* How far a sum over the sample may deviate from its expectation, in bytes. */
double sample_deviation(const SampleFrame *frame);

/* The bytes of all data that deduplication of equal blocks would save. */
Bounded sample_savings(const SampleFrame *frame, const SampleCount *count);

/* Extrapolate a property of single blocks, such as being zero, to all of the data. */
Bounded sample_total(const SampleFrame *frame, uint64_t sample_bytes);
