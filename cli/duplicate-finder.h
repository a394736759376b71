/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/duplicate-group.h"
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

typedef struct {
	uint64_t min_bytes; /* of a file */
	const char *under;  /* only files below it count; absolute, or NULL */
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

/* Files, and extents of btrfs, that are not as they were. */
uint64_t duplicate_finder_stale(const DuplicateFinder *finder);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DuplicateFinder, duplicate_finder_close)
