/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * CloneSharer - shares blocks with several references, after all other runs.
 *
 * XFS frees such a block when its last reference is redirected.  So all references are looked up first.  Ranges
 * with the lowest cost per freed byte come first, as long as the pass may compare (CompareAccount).  Of two equal
 * ranges the one with fewer references is the target.  The rest is counted as skipped, until something changes.
 *
 * With --dry-run nothing is compared or shared, only counted.
 *
 * Thread: the filesystem's worker.
 */

/* Share the pairs of the pass, to the end or until the pass is stopped. */
bool clones_share(Pass *pass, ObjectTable *table, FileOpener *opener, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
