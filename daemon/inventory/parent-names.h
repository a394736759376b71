/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ParentNames - names of inodes of an XFS that knows them, so that no directory is read for them.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ParentNames ParentNames;

/* @fd, which is borrowed, is a directory of the filesystem.  NULL: its inodes do not know their names. */
ParentNames *parent_names_new(int fd, uint64_t top_inode);
void parent_names_free(ParentNames *names);

/*
 * One name of the inode: of several the one in the directory with the least number, and there the one
 * with the least hash, so that it stays the same while it exists.  *ret_name is valid until the next
 * call.  False: it has none, or it is gone.
 */
bool parent_names_find(ParentNames *names, uint64_t inode, uint32_t generation,
		       uint64_t *ret_parent, const char **ret_name) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ParentNames, parent_names_free)
