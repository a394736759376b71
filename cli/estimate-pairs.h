/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate.h"
#include "hashstore/sorter.h"

/*
 * EstimatePairs - positions with equal anchors, two by two.
 *
 * Of a digest with few positions all are paired with each other; of one with many each with the first,
 * or with some, where extents are found by their checksums, and with the one before it, so that their
 * number stays bounded; and no more than GROUP_MEMBERS_MAX are paired at all, as in a pass.  Each way is
 * a pass of its own: what others find beside it changes nothing.
 *
 * Thread: one at a time.
 */
typedef struct EstimatePairs EstimatePairs;

typedef struct {
	uint64_t diagonal; /* target less source, more than 0 */
	uint64_t target;
	uint32_t ways; /* by which both anchors are found */
} SequencePair;

/* Positions have 56 bits. */
EstimatePairs *estimate_pairs_new(const EstimateTask *task);
void estimate_pairs_free(EstimatePairs *pairs);

bool estimate_pairs_add(EstimatePairs *pairs, uint64_t digest, uint64_t position, uint32_t ways,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* End adding. */
bool estimate_pairs_sort(EstimatePairs *pairs, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The next pair, by diagonal and then target; false in *ret_is_pair at the end. */
bool estimate_pairs_next(EstimatePairs *pairs, SequencePair *ret, bool *ret_is_pair, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EstimatePairs, estimate_pairs_free)
