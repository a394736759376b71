/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * Find the uppermost directory above the absolute path @path that has the same device number.  On btrfs this is
 * the subvolume, which has its own device number; elsewhere it is the mount point.  Returns "(unreachable)" if
 * @path does not lead to it.  Free with g_free().
 *
 * Thread: any.
 */
char *mount_root_path(const char *path);
