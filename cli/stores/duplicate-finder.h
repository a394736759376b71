/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/stores/duplicate-group.h"
#include "hashstore/hash-store.h"

/*
 * DuplicateFinder - the groups of equal files that one store knows, each held against the filesystem
 * when its turn comes: what changed since, or is gone, is left out and counted.
 *
 * Memory: 128 MiB for sorting at most, and one group.
 *
 * Thread: main.
 */
typedef struct DuplicateFinder DuplicateFinder;

/* What was left out, as it is not as it was when it was read. */
typedef struct {
	uint64_t stale; /* files that changed since, or are gone */
	uint64_t fresh; /* files that were young then, so that they are read again */
	uint64_t gone;  /* extents of a btrfs: who showed them was shared onto others, or changed */
} DuplicatesLeftOut;

typedef struct {
	uint64_t min_bytes; /* of a file */
	const char *under;  /* only files below it count; absolute, or NULL */
	bool with_shared; /* of a btrfs also those that show the same extents: all are looked up */
} DuplicateLimits;

/* All is borrowed. */
DuplicateFinder *duplicate_finder_open(HashStore *store, const DuplicateLimits *limits,
				       GError **error);
void duplicate_finder_close(DuplicateFinder *finder);

/* Add to @groups what comes next, which may be none or several; *ret_more is false at the end. */
bool duplicate_finder_next(DuplicateFinder *finder, GPtrArray *groups, bool *ret_more,
			   GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* What the next groups may have to reclaim at most, by what is remembered; 0 at the end. */
uint64_t duplicate_finder_most(const DuplicateFinder *finder);

/* Add to @sum what was left out. */
void duplicate_finder_add_left_out(const DuplicateFinder *finder, DuplicatesLeftOut *sum);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DuplicateFinder, duplicate_finder_close)
