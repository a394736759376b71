/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate.h"

/*
 * EstimateSequence - all blocks that were met, file after file, each with a position, its sum and its
 * address; and the anchors among them.
 *
 * Each way of finding has a bit in the masks of anchors, and of the runs that these lead to.  A stretch
 * that ends at holes, long zeros, or the end of its file also has an anchor for all of it.
 *
 * Thread: one at a time.
 */
typedef struct EstimateSequence EstimateSequence;

#define ESTIMATE_ALL_WAYS ((1U << ESTIMATE_WAYS) - 1)

/* Something that is equal to nothing, so that no run goes on over it. */
#define SEQUENCE_GAP UINT64_C(0)

typedef struct {
	uint64_t sum; /* SEQUENCE_GAP, or of the data; short zeros have a sum, too */
	uint64_t address;
} SequenceBlock;

/* Blocks of @target from a position on that equal those at @source. */
typedef struct {
	uint64_t target;
	uint64_t source; /* SEQUENCE_HOLE: they are zeros */
	uint32_t n_blocks;
	uint32_t ways; /* that find it, a bit each */
} SequenceRun;

#define SEQUENCE_HOLE UINT64_MAX

/* @anchor_blocks is k; @usual_window which of the windows has its digests sampled, too. */
EstimateSequence *estimate_sequence_new(const EstimateTask *task, uint32_t anchor_blocks,
					unsigned usual_window, GError **error);
void estimate_sequence_free(EstimateSequence *sequence);

bool estimate_sequence_add(EstimateSequence *sequence, uint64_t sum, uint64_t address,
			   GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A block of zeros that takes space. */
bool estimate_sequence_add_zeros(EstimateSequence *sequence, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* What follows is not what follows in a file, or lies behind a hole. */
bool estimate_sequence_break(EstimateSequence *sequence, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Whether long zeros of the file become holes; asked once in a file, at the first of them.  To be set
 * before zeros are added.
 */
void estimate_sequence_ask(EstimateSequence *sequence, bool (*become)(void *data), void *data);
bool estimate_sequence_end_file(EstimateSequence *sequence, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Of each way, how many anchors there are. */
void estimate_sequence_count(const EstimateSequence *sequence, uint64_t ret[ESTIMATE_WAYS]);

/* All blocks; valid until one is added. */
const SequenceBlock *estimate_sequence_blocks(const EstimateSequence *sequence, uint64_t *ret_n);

/*
 * Find the runs, each with the earlier of two equal stretches for its source: @take gets them in no
 * order.  Of what repeats itself not all runs are found: their blocks grow with those that were added and
 * the logarithm of these, not with their square.  No more blocks can be added then.
 */
typedef bool (*TakeRun)(const SequenceRun *run, void *data, GError **error);
bool estimate_sequence_match(EstimateSequence *sequence, TakeRun take, void *data, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EstimateSequence, estimate_sequence_free)
