/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/filesystem.h"
#include "kernel-ioctl/file/directory.h"
#include "kernel-ioctl/file/file-stat.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * DirectoryLevels - directories of XFS that are being read, each but the first named by the one above it.
 *
 * The first is opened by handle, the others by name: to connect a directory opened by handle, the kernel searches
 * all of its parent.  Mounts hide nothing.
 *
 * Thread: one at a time.
 */
typedef struct DirectoryLevels DirectoryLevels;

/* @filesystem is borrowed; @top is its top directory. */
DirectoryLevels *directory_levels_new(const Filesystem *filesystem, const FileStat *top);
void directory_levels_free(DirectoryLevels *levels);

/* Whether every directory is entered from now on, whatever stamp is known; at first it is not. */
void directory_levels_enter_all(DirectoryLevels *levels, bool all);

/*
 * Begin to read a directory; false if this fails.  *ret_stamp is its stamp now; 0 if it may change without its
 * times showing it.
 */
bool directory_levels_enter_first(DirectoryLevels *levels, uint64_t inode, uint32_t generation,
				  uint64_t *ret_stamp) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The same for the directory of @entry, the last one that was given out.  False also if its stamp is @known_stamp.
 */
bool directory_levels_enter(DirectoryLevels *levels, const DirectoryEntry *entry,
			    uint64_t known_stamp, uint64_t *ret_stamp);

/* The next entry of the innermost directory; NULL when all were read.  Valid until the next call. */
const DirectoryEntry *directory_levels_next(DirectoryLevels *levels, uint64_t *ret_parent);

/* Whether a directory with this time may change without its times showing it.  Thread: any. */
bool directory_levels_is_racy(const DirectoryLevels *levels, int64_t ctime_nsec);

/* A stamp of a directory from its times; never 0. */
uint64_t directory_stamp(int64_t btime_nsec, int64_t mtime_nsec, int64_t ctime_nsec);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DirectoryLevels, directory_levels_free)
