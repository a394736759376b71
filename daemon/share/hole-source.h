/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/share/open-object.h"

/*
 * HoleSource - an unnamed sparse file: sharing its hole with zeros frees them, and the kernel checks that they are
 * zeros.
 *
 * The file is made when a target first needs it (see source-file.h), and serves all targets.
 *
 * Thread: as its FileOpener; without one, one at a time.
 */
typedef struct HoleSource HoleSource;

/*
 * Both are borrowed.  @opener may be NULL on btrfs: then the file is made in the top directory if possible, and has
 * checksums whatever the mount's options are.
 */
HoleSource *hole_source_new(const Filesystem *filesystem, FileOpener *opener);
void hole_source_free(HoleSource *hole);

/*
 * The offset of the hole.  It is not 0, so that XFS copies no CoW extent size hint of this file to a target (see
 * RelayFile).  The file may have the hint from its directory.
 */
uint64_t hole_source_offset(const HoleSource *hole);

/*
 * A descriptor with a hole of @length bytes, at most DEDUPE_ROUND_BYTES.  -1: the file could be made in no
 * directory, *ret_reason says why.  @target may be NULL.  If @length is no multiple of the block size, the file
 * ends there: the kernel shares part of a block only at the end of both files.
 */
int hole_source_fd(HoleSource *hole, const OpenObject *target, uint64_t length,
		   SkipReason *ret_reason);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HoleSource, hole_source_free)
