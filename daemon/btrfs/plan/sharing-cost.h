/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/refs/extent-step.h"

/*
 * SharingCost - whether freeing an extent is worth its cost to files and to metadata.
 *
 * If many small pieces of other extents replace an extent, its file has as many pieces, each with an item in a leaf
 * of btrfs's trees.  So it counts, for each file, the items that the pass added and the bytes freed.  On average,
 * each added item has to free at least the minimum length of a run.  A few items per file are free.
 *
 * If snapshots share a leaf and an item in it changes, btrfs copies the leaf for each of them.  How many of these
 * use one copy is not known beforehand: the average of the pass so far is assumed.
 *
 * The cost is the space of items and copies of leaves, times the filesystem's copies of metadata.  The gain is the
 * bytes freed less the bytes written, times its copies of data.  If data is written, half of the gain must remain,
 * since a write costs more than its space.
 *
 * Pure.  Thread: the filesystem's worker.
 */
typedef struct SharingCost SharingCost;

/* Items per file that are free, and the most that a pass adds to one file. */
#define SHARING_COST_FREE_ITEMS 16
#define SHARING_COST_ITEMS_MAX  (1 << 18)

/* The space of an item with the reference to its extent; 75 to 160 bytes were measured (Linux 6.18). */
#define SHARING_COST_ITEM_BYTES 160

typedef struct {
	uint64_t min_run_bytes;
	uint32_t node_bytes;      /* of a leaf */
	uint32_t metadata_copies; /* that the filesystem keeps of a byte */
	uint32_t data_copies;
} SharingCostLimits;

typedef enum {
	COST_WORTH,
	COST_PIECES,   /* it would leave a file in too many pieces */
	COST_METADATA, /* metadata would grow by more than is freed */
} CostVerdict;

SharingCost *sharing_cost_new(const SharingCostLimits *limits);
void sharing_cost_free(SharingCost *cost);

/* The gain of freeing an extent. */
typedef struct {
	uint64_t extent_bytes;
	uint64_t written_bytes; /* for its remainder; less than extent_bytes */
	bool is_held; /* by snapshots, which share the leaves of all references and do not change */
} ExtentGain;

/*
 * Judge the @n_steps steps that free an extent: in the order of references, those from a copy last.  If they are
 * worth it, they count as done.
 */
CostVerdict sharing_cost_judge(SharingCost *cost, const ExtentGain *gain, const ExtentStep *steps,
			       size_t n_steps);

/* Whether @gain is worth @n_items more items, in whatever files. */
bool sharing_cost_pays(const SharingCost *cost, const ExtentGain *gain, uint64_t n_items);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SharingCost, sharing_cost_free)
