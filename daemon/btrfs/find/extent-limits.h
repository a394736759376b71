/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * Applies the limits of a pass to data extents of btrfs: paths, --exclude, --min-size and skipped places.  Extents
 * are found over the whole filesystem, whatever the limits are.
 *
 * Only extents that look equal to others are placed, because all files that reference them have to be looked up.
 * An extent without references in the pass is neither source nor target.  An extent with some references in the
 * pass is a source through these.  It is no target, because the other references would keep it.
 *
 * Such extents, and those that look equal to them, are not settled.  A pass with other limits can deduplicate them,
 * and so can one with the same limits after files were renamed.  If they are few, every pass matches them again.
 * If they are many, they are settled with a note of the limits.  Then a pass with other limits, or one a week
 * later, matches all extents again.
 *
 * Thread: the filesystem's worker.
 */

/* Unsettle all objects if they were settled under limits that no longer hold. */
bool extent_limits_begin(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Give FACT_OUTSIDE or FACT_AWAY to objects of @table that look equal to others and have references outside the
 * pass.  To be called before they are matched.
 */
bool extent_limits_apply(Pass *pass, ObjectTable *table, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * After sharing: give FACT_LIMITED to such objects and to those that still look equal to them.  Count those that
 * would be targets.
 */
bool extent_limits_mark(Pass *pass, ObjectTable *table, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Keep marked objects from being settled; to be called before that. */
bool extent_limits_keep(Pass *pass, ObjectTable *table, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Warn of globs that matched none of the files that were looked up. */
void extent_limits_warn(const Pass *pass);
