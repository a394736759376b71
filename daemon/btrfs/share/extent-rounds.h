/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * Match what is not settled, and share it, in rounds.
 *
 * In the first one long extents are targets before short ones.  Between the two it is looked for what the long
 * ones lack (BlockSearch), since after that the short ones that have it may go themselves.  What is pinned then
 * was tried as a target and stays: in a second round it is the source of those that were never tried.
 * After that all were.
 *
 * Thread: the filesystem's worker.
 */
bool extent_rounds_share(Pass *pass, ExtentSums *sums, ObjectTable *table, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
