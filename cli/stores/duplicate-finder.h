/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/stores/duplicate-group.h"
#include "hashstore/hash-store.h"

/*
 * DuplicateFinder - the groups of equal files in one store, each compared with the filesystem when its turn
 * comes.  Files that changed since, or are gone, are left out and counted.
 *
 * Memory: at most 128 MiB for sorting, and one group.
 *
 * Thread: main.
 */
typedef struct DuplicateFinder DuplicateFinder;

/* Numbers of files and extents left out, since they changed after they were read. */
typedef struct {
	uint64_t stale; /* files that changed since, or are gone */
	uint64_t fresh; /* files that were young then, so the next pass reads them again */
	uint64_t gone;  /* extents of btrfs whose references were replaced, or changed */
} DuplicatesLeftOut;

typedef struct {
	uint64_t min_bytes; /* of a file */
	const char *under;  /* only files below it count; absolute, or NULL */
	bool with_shared; /* on btrfs also files that reference the same extents: all are looked up */
} DuplicateLimits;

/* All pointers are borrowed. */
DuplicateFinder *duplicate_finder_open(HashStore *store, const DuplicateLimits *limits,
				       GError **error);
void duplicate_finder_close(DuplicateFinder *finder);

/* Add the next groups to @groups, which may be none or several.  *ret_more is false at the end. */
bool duplicate_finder_next(DuplicateFinder *finder, GPtrArray *groups, bool *ret_more,
			   GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* An upper bound of what the next groups can reclaim, by the store; 0 at the end. */
uint64_t duplicate_finder_most(const DuplicateFinder *finder);

/* Add the numbers of what was left out to @sum. */
void duplicate_finder_add_left_out(const DuplicateFinder *finder, DuplicatesLeftOut *sum);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DuplicateFinder, duplicate_finder_close)
