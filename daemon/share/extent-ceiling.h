/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/filesystem.h"

/*
 * How many extents a file of an XFS may have and still be shared onto, which can cut it into more.
 *
 * It could have 2^31, or 2^48 with nrext64; but the kernel has all of them in memory while the file is
 * in use.  What btrfs files are cut into ExtentGuard weighs.
 *
 * Thread: any.
 */
#define EXTENT_CEILING (UINT32_C(1) << 20)

/* Whether the open file has that many. */
bool extent_ceiling_is_reached(const Filesystem *filesystem, int fd);
