/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/mount-table.h"

/*
 * MountedName - which filesystem somebody means who types a name, of those that are mounted.
 *
 * Thread: main.
 */

/* The one with this UUID, or with a mount on this path, if need be free of symlinks; NULL: none. */
const MountedFilesystem *mounted_name_find(const MountTable *mounts, const char *typed);

/* Why @typed is none of them, for people, with what may have been meant; to be freed. */
char *mounted_name_refusal(const MountTable *mounts, const char *typed);
