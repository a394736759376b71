/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/filesystem.h"
#include "kernel-ioctl/btrfs/btrfs-items.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * StateFiles - the files of the state directory, if it is on the btrfs filesystem of the pass.
 *
 * They are never shared.  Otherwise every pass would find the changes made by the previous one, and write again.
 *
 * Thread: the filesystem's worker.
 */
typedef struct StateFiles StateFiles;

/* The present files; none if the directory is elsewhere, or cannot be read. */
StateFiles *state_files_new(const Filesystem *filesystem, const char *state_directory);
void state_files_free(StateFiles *own);

/* Whether the state directory is on the filesystem. */
bool state_files_are_here(const StateFiles *own);

bool state_files_have(const StateFiles *own, uint64_t root, uint64_t inode);

/*
 * Whether, by its item, only one of these files references the extent.  False if the reference is in a leaf that
 * snapshots share: it names no file.
 */
bool state_files_have_extent(const StateFiles *own, const BtrfsExtentItem *item);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StateFiles, state_files_free)
