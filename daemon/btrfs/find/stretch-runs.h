/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"
#include "hashstore/anchors/sorter.h"

/*
 * Translate runs of stretches to runs of their extents.
 *
 * A run with a stretch on one side is followed over the checksums as far as these are equal.  It is cut wherever
 * another extent begins on either side.  The roles are those of the run, so that one copy stays as a whole, however
 * both are cut.  Exception: an extent that cannot be a target is the source of the other.
 *
 * Thread: the filesystem's worker.
 */

/* Translate the runs in @from, which is sorted, and add them to @to. */
bool stretch_runs_resolve(Pass *pass, ExtentSums *sums, ObjectTable *table, Sorter *from,
			  Sorter *to, GError **error) G_GNUC_WARN_UNUSED_RESULT;
