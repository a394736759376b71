/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-cover.h"
#include "common/files/extent-refs.h"
#include "daemon/btrfs/plan/extent-sources.h"

/*
 * ExtentCoverage - finds what covers one data extent of btrfs: the sources of its runs, what lies beside
 * these in their files, and a hole for zeros.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct ExtentCoverage ExtentCoverage;

/* Why more might be covered than is. */
typedef struct {
	bool is_doubtful;        /* something was not believed that a later pass may try */
	bool needs_reading;      /* something is equal in part, which only reading could use */
	bool keeps_zeros;        /* a hole would do for what is left, if that were wanted */
	const ExtentRef *keeper; /* the file that is to keep them; NULL: that is the policy */
	bool lacks_equals;       /* no file shows anything any more that equals part of it */
	bool has_left; /* something does that read-only snapshots alone show, as they alone would show the target */
} CoverageLack;

/* All arguments are borrowed; @refs are the places of the target when there is one. */
ExtentCoverage *extent_coverage_new(Pass *pass, ExtentSums *sums, ExtentSources *sources,
				    const ExtentRefs *refs);
void extent_coverage_free(ExtentCoverage *coverage);

/*
 * Cover @target, which stays until the next one, by its runs, and beyond.  If it is not encoded, the blocks that
 * cannot be shared since a file ends within them are left: such a block of one of its places is shared only where
 * the source's file ends, too, and one of a source only where all places do.
 *
 * @is_held: snapshots hold the target also when it is shared away, so other such extents are no sources.
 */
bool extent_coverage_find(ExtentCoverage *coverage, const Object *target, bool is_held,
			  const GArray *runs, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The cover that was found; owned by @coverage. */
ExtentCover *extent_coverage_cover(const ExtentCoverage *coverage);

/* Whether all that is shown is covered. */
bool extent_coverage_is_all(const ExtentCoverage *coverage);

const CoverageLack *extent_coverage_lack(const ExtentCoverage *coverage);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentCoverage, extent_coverage_free)
