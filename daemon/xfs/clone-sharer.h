/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * CloneSharer - shares what has several references, after all else is shared.
 *
 * The blocks of a target are freed when the last reference to them is redirected.  So all references are
 * looked up first; then those stretches come that cost least per byte freed, for as long as the pass may
 * compare (CompareAccount).  Of two equal stretches the one with fewer references is the target.
 * What is left is counted as skipped, and stays so until something changes.
 *
 * With --dry-run nothing is compared or shared, only counted.
 *
 * Thread: the filesystem's worker.
 */

/* Share the pairs of the pass, until the end or until the pass is stopped. */
bool clones_share(Pass *pass, ObjectTable *table, FileOpener *opener, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
