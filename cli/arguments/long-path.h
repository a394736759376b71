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
