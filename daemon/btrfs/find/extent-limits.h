/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * What the limits of a pass (its paths, --exclude, --min-size, what is left alone by its place) mean for
 * data extents of btrfs, which are found over the whole filesystem whatever they are.
 *
 * Only extents that look equal to others are placed, since that takes a look for all files that show
 * them.  One with no place in the pass is neither source nor target; one with some has those as
 * sources, and is no target, as it would stay in the others.
 *
 * Such extents, and what looks equal to them, are not settled: a pass with other limits can share
 * them, and so can one with the same when files were renamed.  A few are therefore taken up again
 * by every pass.  Many are settled nevertheless, with a note of the limits; a pass with others, or
 * one a week later, matches everything anew.
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
