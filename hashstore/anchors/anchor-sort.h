/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"

#include <stddef.h>

/*
 * AnchorSort - sorts anchors in memory: by digest, then object, then block.
 *
 * Thread: any.
 */

/* Negative, zero or positive, as for qsort(). */
static inline int anchor_compare(const Anchor *a, const Anchor *b)
{
	if (a->digest != b->digest)
		return a->digest < b->digest ? -1 : 1;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;

	return (a->block > b->block) - (a->block < b->block);
}

#define ANCHOR_SORT_MAX UINT32_MAX

/* Sort up to ANCHOR_SORT_MAX anchors in place, without more memory. */
void anchor_sort(Anchor *anchors, size_t n_anchors);

/* A sorted array of anchors. */
typedef struct {
	const Anchor *anchors;
	size_t n_anchors;
} AnchorRun;

/* Merge sorted @runs into @to, up to ANCHOR_SORT_MAX anchors in all. */
void anchor_sort_runs(const AnchorRun *runs, size_t n_runs, Anchor *to);

/* Drop all but one of equal anchors, which are neighbours.  Returns the number that is left. */
size_t anchor_unique(Anchor *anchors, size_t n_anchors);
