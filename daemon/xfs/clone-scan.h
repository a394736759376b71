/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"
#include "daemon/xfs/clone-refs.h"

/*
 * Find all references to the blocks that @refs wants, in the files of the store that had shared blocks when
 * they were read, or were shared onto in this pass.  Reads no data.  *ret_is_complete is false where there
 * were too many to know, or the pass was stopped.
 *
 * Thread: the filesystem's worker.
 */
bool clone_scan(Pass *pass, CloneRefs *refs, FileOpener *opener, bool *ret_is_complete,
		GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Have the store know which files were shared onto, or with, in this pass: later ones find their references,
 * too.  Also for a pass that was stopped.
 */
bool clone_scan_note(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
