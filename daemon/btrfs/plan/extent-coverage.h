/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-cover.h"
#include "common/files/extent-refs.h"
#include "daemon/btrfs/plan/extent-sources.h"

/*
 * ExtentCoverage - finds the cover of a data extent of btrfs: by the sources of its runs, by extents beside these
 * in their files, and by a hole for zeros.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct ExtentCoverage ExtentCoverage;

/* Why the cover is not complete. */
typedef struct {
	bool is_doubtful;   /* some checksums were not trusted; a later pass may try them */
	bool needs_reading; /* a compressed extent is equal in part: only reading could use it */
	bool keeps_zeros;   /* a hole would cover the rest, but zeros have to stay */
	const ExtentRef *keeper; /* the file that has to keep them; NULL: the policy does */
	bool lacks_equals;       /* no file has data any more that equals part of it */
} CoverageLack;

/* All arguments are borrowed.  @refs has the references to the target during extent_coverage_find(). */
ExtentCoverage *extent_coverage_new(Pass *pass, ExtentSums *sums, ExtentSources *sources,
				    const ExtentRefs *refs);
void extent_coverage_free(ExtentCoverage *coverage);

/*
 * Cover @target by its runs, and beyond.  @target must live until the next call.
 *
 * A block within which a file ends is covered only if the other side ends there, too: the source's file for a
 * reference, all references for a source.  Compressed extents have no such blocks.
 *
 * @is_held: snapshots hold the target also when it is shared away, so other held extents are no sources.
 */
bool extent_coverage_find(ExtentCoverage *coverage, const Object *target, bool is_held,
			  const GArray *runs, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The cover; owned by @coverage. */
ExtentCover *extent_coverage_cover(const ExtentCoverage *coverage);

/* Whether all referenced bytes are covered. */
bool extent_coverage_is_all(const ExtentCoverage *coverage);

const CoverageLack *extent_coverage_lack(const ExtentCoverage *coverage);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentCoverage, extent_coverage_free)
