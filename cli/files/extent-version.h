/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/extent-refs.h"
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"

/*
 * Whether a place still references the version of the btrfs extent that the store knows.  @items is used for
 * the search; @fd lies on the filesystem.
 *
 * Needs CAP_SYS_ADMIN.  Thread: main.
 */
bool extent_version_is_shown(BtrfsFileExtents *items, int fd, const ExtentRef *place,
			     const Object *known, bool *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
