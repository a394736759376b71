/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/filesystem.h"
#include "kernel-ioctl/btrfs/btrfs-items.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * StateFiles - the files of the state directory, where that lies on the btrfs which a pass is over.
 *
 * They are never shared.  If a pass took note of them as of others it would write because it had written:
 * each would find what the one before it wrote, for ever.
 *
 * Thread: the filesystem's worker.
 */
typedef struct StateFiles StateFiles;

/* Those that are there now; elsewhere, or where the directory cannot be read, there are none. */
StateFiles *state_files_new(const Filesystem *filesystem, const char *state_directory);
void state_files_free(StateFiles *own);

/* Whether there are any: the state directory lies on the filesystem. */
bool state_files_are_here(const StateFiles *own);

bool state_files_have(const StateFiles *own, uint64_t root, uint64_t inode);

/*
 * Whether the item says that one of them alone shows the extent.  A leaf that snapshots have in common
 * does not tell whose it is: false.
 */
bool state_files_have_extent(const StateFiles *own, const BtrfsExtentItem *item);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StateFiles, state_files_free)
