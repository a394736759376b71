/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/mounts/mount-table.h"
#include "hashstore/objects/objects.h"

/*
 * StaleFiles - files that a store remembers, and that their filesystem has no more, or has another file
 * in place of.
 *
 * Extents of a btrfs are none of them: each pass by itself forgets those that are gone.
 *
 * Thread: main.
 */
typedef struct {
	uint64_t subvolume;
	uint64_t inode;
} GoneFile;

/*
 * *ret is an array of GoneFile, to be unref'd: 16 bytes for each.  @fd is a directory of the mounted
 * filesystem; which needs CAP_SYS_ADMIN.
 */
bool stale_files_find(HashStore *store, int fd, GArray **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
