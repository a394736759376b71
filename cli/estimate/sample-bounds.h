/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * SampleBounds - what a sample of the data says of all of it, with bounds.
 *
 * The data is cut into clusters, at most 1 MiB of one file each, and every cluster is in the sample with
 * the same chance q, independently.  Let s be what blocks of the sample would save among themselves.
 * Of a block with m copies in all m - 1 can be freed; of these copies a sample has so many that its
 * expectation E lies between q^2 (m - 1), which two copies in two clusters have, and q (m - 1), which
 * copies in one cluster have.  So the truth lies between E / q and E / q^2.  s is not E: but one cluster
 * more or less changes s by its own bytes at most, so by the inequality of bounded differences
 * (McDiarmid, "On the method of bounded differences", 1989) |s - E| is more than t with a chance of
 * 2 exp(-2 t^2 / sum of squares of the clusters' bytes) at most.  The number within these bounds is the
 * guaranteed-error estimator of distinct values (Charikar, Chaudhuri, Motwani, Narasayya, "Towards
 * estimation error guarantees for distinct values", PODS 2000), which takes a block that the sample has
 * once for sqrt(1/q) different ones.
 *
 * Pure.  Thread: any.
 */

/* All bounds of one estimate hold together with this chance at least, so each with more. */
#define SAMPLE_CONFIDENCE 0.95

/* Bounds of so many numbers have to hold together. */
#define SAMPLE_NUMBERS 8

typedef struct {
	uint64_t bytes;
	uint64_t low;
	uint64_t high;
} Bounded;

typedef struct {
	double fraction;      /* q, more than 0, and 1 at most */
	double squares;       /* sum over all clusters, read or not, of their bytes squared */
	uint64_t total_bytes; /* of all clusters */
} SampleFrame;

/* Blocks of one size in the sample. */
typedef struct {
	uint64_t bytes;        /* of all of them */
	uint64_t saved_bytes;  /* of those that equal an earlier one */
	uint64_t single_bytes; /* of those that none equals */
} SampleCount;

/* Known for sure. */
Bounded bounded_exactly(uint64_t bytes);

/* How far a sum over the sample may lie from its expectation, in bytes. */
double sample_deviation(const SampleFrame *frame);

/* What equal blocks would save in all of the data. */
Bounded sample_savings(const SampleFrame *frame, const SampleCount *count);

/* What there is in all of the data of something that blocks are by themselves, as zeros are. */
Bounded sample_total(const SampleFrame *frame, uint64_t sample_bytes);
