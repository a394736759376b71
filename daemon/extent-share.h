/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/extent-sums.h"
#include "daemon/object-table.h"
#include "daemon/pass.h"
#include "daemon/planner.h"

/*
 * Share what runs between data extents of btrfs promise.
 *
 * Extent by extent, in the order of the planner: the runs' ends are found from the checksums, all
 * places that show the extent are looked up, and only if other extents can take over every byte that is
 * shown it is shared, in each of those places.  Else nothing would be freed: it is counted as
 * pinned, in the first round of a pass, and becomes the source of others in the second; *ret_pinned
 * is how many were.  What was freed is seen by nothing showing the extent any more.
 *
 * Thread: the filesystem's worker.
 */
bool extents_share(Pass *pass, ExtentSums *sums, ObjectTable *table, Planner *planner,
		   bool is_first_round, uint64_t *ret_pinned, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
