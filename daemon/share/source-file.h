/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/share/open-object.h"

/*
 * Make an empty unnamed file on the filesystem, open for reading and writing, to share zeros or copies from.
 *
 * It is made in the first directory that allows it: that of @target, where the target's owner mostly may write,
 * then the mount point, then the roots of the pass.  @target may be NULL.
 *
 * @opener may be NULL for btrfs: then the top level comes first, and the file has checksums whatever the mount's
 * options are.
 *
 * Returns -1 with *ret_reason if no directory allows it.
 *
 * Thread: as @opener; any without one.
 */
int source_file_make(const Filesystem *filesystem, FileOpener *opener, const OpenObject *target,
		     SkipReason *ret_reason);
