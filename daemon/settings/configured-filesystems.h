/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "daemon/context/filesystem.h"

/*
 * The filesystems and disks that the configuration names, and which of them exist.
 *
 * Thread: main.
 */

/* The names that the configuration may have for @filesystem: see mounted_filesystem_names(). */
char **named_filesystem_names(const Filesystem *filesystem);

/*
 * Paths that stand for the filesystems with sections: all mounts of those with a UUID.  Missing ones are named in
 * @warnings, an array of texts.
 */
char **named_filesystem_paths(const Config *config, GPtrArray *warnings);

/* @paths, with each device or tag replaced by the mounts that show all of its filesystem. */
char **named_filesystem_replace(char *const *paths);

/* Add the disks that are missing to @warnings. */
void named_disks_check(const Config *config, GPtrArray *warnings);
