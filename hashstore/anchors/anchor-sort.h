/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"

#include <stddef.h>

/*
 * Sorting of anchors in memory: by digest, then object, then block.
 *
 * Thread: any.
 */

/* Negative, zero or positive, as for qsort. */
static inline int anchor_compare(const Anchor *a, const Anchor *b)
{
	if (a->digest != b->digest)
		return a->digest < b->digest ? -1 : 1;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;

	return (a->block > b->block) - (a->block < b->block);
}

#define ANCHOR_SORT_MAX UINT32_MAX

/* In place; no memory is asked for.  Up to ANCHOR_SORT_MAX anchors. */
void anchor_sort(Anchor *anchors, size_t n_anchors);

/* Sorted anchors somewhere in memory. */
typedef struct {
	const Anchor *anchors;
	size_t n_anchors;
} AnchorRun;

/* Put @runs together, sorted, in @to.  Up to ANCHOR_SORT_MAX anchors in all. */
void anchor_sort_runs(const AnchorRun *runs, size_t n_runs, Anchor *to);

/* Drop all but one of equal anchors, which lie side by side; returns how many are left. */
size_t anchor_unique(Anchor *anchors, size_t n_anchors);
