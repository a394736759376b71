/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsPaths - finds the paths of files of a btrfs filesystem, in any subvolume.
 *
 * Needs CAP_SYS_ADMIN.  Thread: main.
 */
typedef struct BtrfsPaths BtrfsPaths;

/* @fd is any file or directory of the filesystem, and stays open; @uuid is the filesystem's. */
BtrfsPaths *btrfs_paths_new(int fd, const char *uuid, GError **error);
void btrfs_paths_free(BtrfsPaths *paths);

/*
 * The absolute path of the file by one of its names, as raw bytes.  It begins with a mount point that can be
 * reached, else with the top level, which is called "<FS_TREE>".  A long path is cut: see ShortPath.  NULL if
 * the file has no name.
 */
char *btrfs_paths_find(BtrfsPaths *paths, uint64_t root, uint64_t inode);

/* The path of a file in the subvolume @root, the top of which is at @directory.  *ret is NULL if it has no name. */
bool btrfs_paths_find_below(BtrfsPaths *paths, uint64_t root, uint64_t inode, const char *directory,
			    char **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The path of the subvolume @root itself; "<FS_TREE>" for a top level that is not mounted. */
char *btrfs_paths_find_subvolume(BtrfsPaths *paths, uint64_t root);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsPaths, btrfs_paths_free)
