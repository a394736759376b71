/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/btrfs/refs/extent-step.h"

/*
 * ExtentGuard - whether freeing an extent is worth what it does to files and to metadata.
 *
 * An extent that is covered by many small pieces of others leaves a file in as many pieces, each with an
 * item in a leaf of btrfs's trees.  So for each file it is counted how many items the pass has added
 * to it, beside what was freed for that: on average, an item more has to free as much as a run is to
 * be long at least.  Where few items are added to a file nobody is hurt, so that many are free.
 *
 * Leaves that snapshots have in common are copied for each of them when something in it is shared.
 * How many others use the same copy is not known beforehand: it is taken to be as many as so far in
 * the pass.
 *
 * What items and copies of leaves take, as many times as the filesystem keeps copies of metadata, is set
 * against what is gained, as many times as it keeps copies of data: what is freed less what is written
 * for it.  Where something is written half of that must be left, since a write costs more than its space.
 *
 * Pure.  Thread: the filesystem's worker.
 */
typedef struct ExtentGuard ExtentGuard;

/* Items that may be added to a file for nothing, and the most that a pass adds to one. */
#define EXTENT_GUARD_FREE_ITEMS 16
#define EXTENT_GUARD_ITEMS_MAX  (1 << 18)

/* What an item takes with the reference to its extent; 75 to 160 bytes were measured (Linux 6.18). */
#define EXTENT_GUARD_ITEM_BYTES 160

typedef struct {
	uint64_t min_run_bytes;
	uint32_t node_bytes;      /* of a leaf */
	uint32_t metadata_copies; /* that the filesystem keeps of a byte */
	uint32_t data_copies;
} ExtentGuardLimits;

typedef enum {
	GUARD_WORTH,
	GUARD_PIECES,   /* it would leave a file in too many pieces */
	GUARD_METADATA, /* metadata would grow by more than is freed */
} GuardVerdict;

ExtentGuard *extent_guard_new(const ExtentGuardLimits *limits);
void extent_guard_free(ExtentGuard *guard);

/* What is had by freeing an extent. */
typedef struct {
	uint64_t extent_bytes;
	uint64_t written_bytes; /* anew, for its rest; no more than that */
	bool is_held; /* by snapshots, which share the leaves of all places and stay as they are */
} ExtentGain;

/*
 * Judge the @n_steps steps, in the order of each place and those from a copy last, that free an extent.
 * If it is worth it they count as done.
 */
GuardVerdict extent_guard_judge(ExtentGuard *guard, const ExtentGain *gain, const ExtentStep *steps,
				size_t n_steps);

/* Whether @gain is worth so many items more, be they in whatever files. */
bool extent_guard_pays(const ExtentGuard *guard, const ExtentGain *gain, uint64_t n_items);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentGuard, extent_guard_free)
