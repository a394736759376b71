/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ParentNames - names of inodes from the parent pointers of XFS, without reading directories.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ParentNames ParentNames;

/* @fd, which is borrowed, is a directory of the filesystem.  NULL: the filesystem has no parent pointers. */
ParentNames *parent_names_new(int fd, uint64_t top_inode);
void parent_names_free(ParentNames *names);

/*
 * One name of the inode: that in the directory with the lowest number, and there the one with the lowest hash.  So
 * it stays the same while it exists.  *ret_name is valid until the next call.  False: it has none, or it is gone.
 */
bool parent_names_find(ParentNames *names, uint64_t inode, uint32_t generation,
		       uint64_t *ret_parent, const char **ret_name) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ParentNames, parent_names_free)
