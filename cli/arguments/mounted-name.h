/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/mounts/mount-table.h"

/*
 * MountedName - which filesystem somebody means who types a name, of those that are mounted.
 *
 * Thread: main.
 */

/* The one with this UUID, or with a mount on this path, if need be free of symlinks; NULL: none. */
const MountedFilesystem *mounted_name_find(const MountTable *mounts, const char *typed);

/*
 * Put the UUID of the mounted filesystem, or where @are_paths the path of a mount of it, in the place of each of
 * @names (NULL-terminated, each to be freed) that is a device or a tag, as in fstab(5).  What is of none stays.
 */
void mounted_names_replace(char **names, bool are_paths);

/* The mount point that was most likely meant by @typed, a path; NULL: none. */
char *mounted_name_meant(const MountTable *mounts, const char *typed);

/* Why @typed is none of them, for people, with what may have been meant; to be freed. */
char *mounted_name_refusal(const MountTable *mounts, const char *typed);
