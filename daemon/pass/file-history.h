/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * FileHistory - whether files are still shared as passes left them: see FsHistory.
 *
 * A witness is a place that was shared onto, with its address afterwards, and the change time of its file.  It tells
 * nothing after the file was changed and read again.  Sharing leaves the stamp of a file as it is.  So a file with its
 * stamp at another address was set back, or moved by another program (xfs_fsr, a balance).  In the latter case,
 * matching again finds nothing to share, and does no harm.
 *
 * Thread: the filesystem's worker.
 */

/* *ret_is_continued is false also if no witness is left that could tell. */
bool file_history_check(Pass *pass, const Witnesses *witnesses, bool *ret_is_continued,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Add places that the pass shared, and measure all of them anew. */
bool file_history_remember(Pass *pass, Witnesses *witnesses, bool *ret_is_changed, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
