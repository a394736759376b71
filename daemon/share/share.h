/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"
#include "daemon/match/run-order.h"

/*
 * Sharing - shares all runs: one target after another, or on XFS several targets at a time.  It prefetches the next
 * ones, so that the disk has several requests at a time.  The latest sources stay open.
 *
 * With --dry-run it shares nothing, and estimates the result from addresses.  It reads only to find the ends of
 * runs of zeros, of which only the beginnings are known.
 *
 * Thread: the filesystem's worker.  It starts the others, and joins them before it returns.
 */

/* Share all runs, to the end or until the pass is stopped. */
bool share_all(Pass *pass, RunOrder *order, FileOpener *opener, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
