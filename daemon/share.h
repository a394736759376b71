/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/file-opener.h"
#include "daemon/pass.h"
#include "daemon/planner.h"

/*
 * Sharing - carries out plans: what is shared already is recognised by its place, the rest is
 * compared, and maximal equal stretches are given to the kernel; what it shared is seen by its
 * place again.  A run is extended both ways for as long as the data is equal.
 *
 * Stretches shorter than an anchor are left alone, unless they continue others: each would be an
 * extent of its own.
 *
 * With --dry-run nothing is read or shared; what would be shared is estimated from the places.
 *
 * Thread: the filesystem's worker.
 */

/* Share all runs, until the end or until the pass is stopped. */
bool share_all(Pass *pass, Planner *planner, FileOpener *opener, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
