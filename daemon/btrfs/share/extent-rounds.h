/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * Match the unsettled objects and deduplicate them, in rounds.
 *
 * In the first round long extents are targets before short ones.  Between the two, BlockSearch looks for data that
 * the long ones lack; the short ones that have it may be freed afterwards.  Extents that are pinned then are
 * sources in a second round, for extents that were never tried.
 *
 * Thread: the filesystem's worker.
 */
bool extent_rounds_share(Pass *pass, ExtentSums *sums, ObjectTable *table, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
