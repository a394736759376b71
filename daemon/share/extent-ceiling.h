/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/filesystem.h"

/*
 * The most extents that a file of an XFS filesystem may have and still be a target: deduplication can cut it into
 * more.
 *
 * XFS allows 2^31, or 2^48 with nrext64; but the kernel keeps all of them in memory while the file is in use.  On
 * btrfs, ExtentGuard limits the pieces of files.
 *
 * Thread: any.
 */
#define EXTENT_CEILING (UINT32_C(1) << 20)

/* Whether the open file has that many. */
bool extent_ceiling_is_reached(const Filesystem *filesystem, int fd);
