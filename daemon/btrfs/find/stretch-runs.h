/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"
#include "hashstore/anchors/sorter.h"

/*
 * Say of extents what was matched of stretches.
 *
 * A run of which one side is a stretch is followed over the sums as far as these are equal, and cut
 * wherever one side goes on with another extent.  The roles are those of the run, so that one copy
 * stays as a whole however both are cut; save that an extent that cannot be a target is the source of
 * the other.
 *
 * Thread: the filesystem's worker.
 */

/* Add to @to what @from (of Run, both) says of extents; @from is sorted. */
bool stretch_runs_resolve(Pass *pass, ExtentSums *sums, ObjectTable *table, Sorter *from,
			  Sorter *to, GError **error) G_GNUC_WARN_UNUSED_RESULT;
