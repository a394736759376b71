/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"

#include <glib.h>
#include <stdbool.h>

/*
 * TreeFiles - the regular files below a directory, by all of their names, on its filesystem alone: in
 * whatever subvolume of a btrfs, and in nothing that is mounted there.  Links are not followed.  They come
 * in the order of names, directory by directory; paths may be longer than PATH_MAX.
 *
 * Thread: main.
 */
typedef struct TreeFiles TreeFiles;

/* The directory lies on a btrfs or XFS; its identity is given. */
TreeFiles *tree_files_open(const char *directory, FsIdentity *ret, GError **error);
void tree_files_close(TreeFiles *files);

/* Whether to leave out the directory @fd at @path, in which a subvolume of btrfs begins. */
typedef bool TreeFilesLeaveOut(void *data, int fd, const char *path);

/* Have subvolumes left out; the directory that the walk begins with never is. */
void tree_files_set_leave_out(TreeFiles *files, TreeFilesLeaveOut *leave_out, void *data);

/*
 * The next path, valid until the next call; NULL at the end.  False: a directory or file could not be
 * looked at, and the next call goes on behind it.
 */
bool tree_files_next(TreeFiles *files, const char **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(TreeFiles, tree_files_close)
