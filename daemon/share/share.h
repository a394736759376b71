/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"
#include "daemon/match/planner.h"

/*
 * Sharing - carries out all plans, one after another, with the next ones looked at ahead so that the
 * disk has several requests at a time.  Sources last used stay open.
 *
 * With --dry-run nothing is shared, and read only where runs of zeros end: only where they begin is
 * known.  What would be shared is estimated from the places.
 *
 * Thread: the filesystem's worker.
 */

/* Share all runs, until the end or until the pass is stopped. */
bool share_all(Pass *pass, Planner *planner, FileOpener *opener, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
