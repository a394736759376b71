/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * BtrfsPaths - what the files of a btrfs are called, in whatever subvolume.
 *
 * Needs CAP_SYS_ADMIN.  Thread: main.
 */
typedef struct BtrfsPaths BtrfsPaths;

/* @fd is any file or directory of the filesystem, and stays open; @uuid is its own. */
BtrfsPaths *btrfs_paths_new(int fd, const char *uuid, GError **error);
void btrfs_paths_free(BtrfsPaths *paths);

/*
 * The absolute path of the file by one of its names, as raw bytes: below a mount point that can be
 * reached, else from the top level on, which is called "<FS_TREE>".  A long one is
 * cut: see ShortPath.  NULL if it has no name.
 */
char *btrfs_paths_find(BtrfsPaths *paths, uint64_t root, uint64_t inode);

/* The same of the subvolume @root itself; "<FS_TREE>" of a top level that no mount shows. */
char *btrfs_paths_find_subvolume(BtrfsPaths *paths, uint64_t root);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsPaths, btrfs_paths_free)
