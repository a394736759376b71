/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * The uppermost directory above the file @path, absolute, that has one device with it: of a btrfs the
 * subvolume, as each has a number of its own, else where the filesystem is mounted.  To be freed with
 * g_free(); "(unreachable)" where @path does not lead to it.
 *
 * Thread: any.
 */
char *mount_root_path(const char *path);
