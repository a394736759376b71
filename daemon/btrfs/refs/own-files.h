/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/filesystem.h"
#include "kernel-ioctl/btrfs/btrfs-items.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * OwnFiles - the files of the state directory, where that lies on the btrfs which a pass is over.
 *
 * They are never shared.  If a pass took note of them as of others it would write because it had written:
 * each would find what the one before it wrote, for ever.
 *
 * Thread: the filesystem's worker.
 */
typedef struct OwnFiles OwnFiles;

/* Those that are there now; elsewhere, or where the directory cannot be read, there are none. */
OwnFiles *own_files_new(const Filesystem *filesystem, const char *state_directory);
void own_files_free(OwnFiles *own);

/* Whether there are any: the state directory lies on the filesystem. */
bool own_files_are_here(const OwnFiles *own);

bool own_files_have(const OwnFiles *own, uint64_t root, uint64_t inode);

/*
 * Whether the item says that one of them alone shows the extent.  A leaf that snapshots have in common
 * does not tell whose it is: false.
 */
bool own_files_have_extent(const OwnFiles *own, const BtrfsExtentItem *item);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(OwnFiles, own_files_free)
