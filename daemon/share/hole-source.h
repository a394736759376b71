/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/share/open-object.h"

/*
 * HoleSource - an unnamed sparse file of the filesystem: sharing its hole with zeros frees them,
 * and the kernel checks that they are zeros.
 *
 * It is made when it is first needed (see source-file.h).  Made once it serves all targets.
 *
 * Thread: the filesystem's worker.
 */
typedef struct HoleSource HoleSource;

/*
 * Both are borrowed.  @opener may be NULL on btrfs: then the first directory is its topmost one, and the file has
 * checksums whatever the mount's options are.
 */
HoleSource *hole_source_new(const Filesystem *filesystem, FileOpener *opener);
void hole_source_free(HoleSource *hole);

/*
 * The offset of the hole.  It is behind offset 0, so that XFS copies no CoW extent size hint of this file to a
 * target (see RelayFile).  The file may have the hint from its directory.
 */
uint64_t hole_source_offset(const HoleSource *hole);

/*
 * A descriptor of which @length bytes, at most DEDUPE_ROUND_BYTES, are a hole; -1: no
 * directory let us make the file, *ret_reason says why.  @target may be NULL.  A length that is no multiple of the block
 * size ends the file, since the kernel shares part of a block at the end of both files only.
 */
int hole_source_fd(HoleSource *hole, const OpenObject *target, uint64_t length,
		   SkipReason *ret_reason);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HoleSource, hole_source_free)
