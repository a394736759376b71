/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"

#include <glib.h>
#include <stdbool.h>

/*
 * TreeFiles - iterates over the regular files below a directory, by all of their names.  It stays on the
 * filesystem: it enters any subvolume of btrfs, but no mount points.  Links are not followed.  Files come in
 * the order of names, directory by directory.  Paths may be longer than PATH_MAX.
 *
 * Thread: main.
 */
typedef struct TreeFiles TreeFiles;

/* The directory must lie on btrfs or XFS.  *ret is the filesystem's identity. */
TreeFiles *tree_files_open(const char *directory, FsIdentity *ret, GError **error);
void tree_files_close(TreeFiles *files);

/* Whether to leave out the directory @fd at @path, the top of a btrfs subvolume. */
typedef bool TreeFilesLeaveOut(void *data, int fd, const char *path);

/* Set which subvolumes to leave out.  The walk's first directory is never left out. */
void tree_files_set_leave_out(TreeFiles *files, TreeFilesLeaveOut *leave_out, void *data);

/*
 * The next path, valid until the next call; NULL at the end.  False: a directory or file could not be examined,
 * and the next call goes on after it.
 */
bool tree_files_next(TreeFiles *files, const char **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(TreeFiles, tree_files_close)
