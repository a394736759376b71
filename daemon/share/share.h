/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"
#include "daemon/match/run-order.h"

/*
 * Sharing - carries out all plans, one after another.  It prefetches the next ones so that the disk has several
 * requests at a time.  Sources last used stay open.
 *
 * With --dry-run it deduplicates nothing.  It reads only to find where runs of zeros end: only their beginnings
 * are known.  It estimates the result from the places.
 *
 * Thread: the filesystem's worker.
 */

/* Share all runs, until the end or until the pass is stopped. */
bool share_all(Pass *pass, RunOrder *order, FileOpener *opener, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
