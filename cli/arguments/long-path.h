/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Paths that may be longer than PATH_MAX.  The kernel's calls do not take such a path in one piece.
 *
 * Thread: any.
 */

/*
 * Open the parent directory of @path with O_PATH, following links on the way.  *ret_name is the last name,
 * within @path.  Returns -1 and sets errno on error.
 */
int long_path_open_above(const char *path, const char **ret_name);

/*
 * Find the uppermost directory above the absolute path @path that has the same device number.  On btrfs this is
 * the subvolume, which has its own device number; elsewhere it is the mount point.  Returns "(unreachable)" if
 * @path does not lead to it.  To be freed.
 */
char *long_path_find_root(const char *path);
