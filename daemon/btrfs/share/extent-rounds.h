/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * Match the objects that are not settled, and deduplicate them, in rounds.
 *
 * In the first round long extents are targets before short ones.  Between the two, BlockSearch searches for data
 * that the long ones lack: after that, the short ones that have it may be freed themselves.  Extents that are
 * pinned then were tried as targets and stay.  In a second round they are the sources of those that were never
 * tried.  After that all were tried.
 *
 * Thread: the filesystem's worker.
 */
bool extent_rounds_share(Pass *pass, ExtentSums *sums, ObjectTable *table, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
