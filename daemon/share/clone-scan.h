/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"
#include "daemon/share/clone-refs.h"

/*
 * Find all references to the blocks that @refs wants.  It maps the files that had shared blocks
 * when they were read, or shared some in this pass.  It reads no data.  *ret_is_complete is false
 * if there were too many, or the pass was stopped.
 *
 * Thread: the filesystem's worker.
 */
bool clone_scan(Pass *pass, CloneRefs *refs, FileOpener *opener, bool *ret_is_complete,
		GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Record in the store which files shared in this pass, so that later passes find their references.  Also for a pass
 * that was stopped.
 */
bool clone_scan_note(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
