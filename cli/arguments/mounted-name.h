/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/mounts/mount-table.h"

/*
 * MountedName - finds the mounted filesystem that a typed name means.
 *
 * Thread: main.
 */

/*
 * The filesystem with this UUID, or with a mount at this path.  Symlinks in the path are resolved if necessary.
 * NULL: none.
 */
const MountedFilesystem *mounted_name_find(const MountTable *mounts, const char *typed);

/*
 * Replace each of @names that is a device or a tag, as in fstab(5), with the UUID of its mounted filesystem.
 * If @are_paths, replace it with the path of a mount instead.  Names that match no mounted filesystem stay.
 * The array is NULL-terminated, and each name can be freed.
 */
void mounted_names_replace(char **names, bool are_paths);

/* The mount point that the path @typed most likely means; NULL: none. */
char *mounted_name_meant(const MountTable *mounts, const char *typed);

/* A message that says why @typed is no mounted filesystem, and what the user may have meant.  To be freed. */
char *mounted_name_refusal(const MountTable *mounts, const char *typed);
