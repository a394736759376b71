/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * Applies the limits of a pass (its paths, --exclude, --min-size, places that are skipped) to data extents of
 * btrfs, which are found over the whole filesystem whatever the limits are.
 *
 * Only extents that look equal to others are placed, since that takes a look at all files that refer to them.  An
 * extent with no reference in the pass is neither source nor target.  An extent with some references in the pass
 * has those as sources.  It is no target, as its other references would keep it.
 *
 * Such extents, and those that look equal to them, are not settled: a pass with other limits can deduplicate them,
 * and so can one with the same limits after files were renamed.  A few are therefore taken up again by every pass.
 * Many are settled nevertheless, with a note of the limits; a pass with other limits, or one a week later, matches
 * everything anew.
 *
 * Thread: the filesystem's worker.
 */

/* Unsettle everything if it was settled under limits that do not hold any more. */
bool extent_limits_begin(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Give the objects of @table that look equal to others FACT_OUTSIDE or FACT_AWAY, where they are not
 * part of the pass with all their places.  To be called before they are matched.
 */
bool extent_limits_apply(Pass *pass, ObjectTable *table, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * When all is shared: give FACT_LIMITED to what still looks equal to such objects, themselves included,
 * and count those of them that would be targets.
 */
bool extent_limits_mark(Pass *pass, ObjectTable *table, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Keep what was marked from being settled; to be called before that. */
bool extent_limits_keep(Pass *pass, ObjectTable *table, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Warn of globs that matched none of the files that were looked up. */
void extent_limits_warn(const Pass *pass);
