/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/mounts/mount-table.h"
#include "hashstore/objects/objects.h"

/*
 * StaleFiles - finds files in a store that no longer exist on the filesystem, or were replaced by another file.
 *
 * It excludes extents of btrfs: each pass forgets those that are gone.
 *
 * Thread: main.
 */
typedef struct {
	uint64_t subvolume;
	uint64_t inode;
} GoneFile;

/*
 * *ret is an array of GoneFile, 16 bytes each, to be unref'd.  @fd is a directory of the mounted filesystem.
 * Needs CAP_SYS_ADMIN.
 */
bool stale_files_find(HashStore *store, int fd, GArray **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
