/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Paths that may be longer than PATH_MAX, which no call of the kernel takes in one piece.
 *
 * Thread: any.
 */

/*
 * Open the directory that the last name of @path lies in, as a place (O_PATH); links on the way are
 * followed.  *ret_name is that name, within @path.  -1 with errno.
 */
int long_path_open_above(const char *path, const char **ret_name);
