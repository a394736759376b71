/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "daemon/context/filesystem.h"

/*
 * The filesystems and disks that the configuration names, and what is there of them.
 *
 * Thread: main.
 */

/* By which names the configuration may know @filesystem: see mounted_filesystem_names(). */
char **named_filesystem_names(const Filesystem *filesystem);

/*
 * Paths that stand for the filesystems with sections, of all that is mounted of those with a UUID.
 * What is not there is said in @warnings, an array of texts.
 */
char **named_filesystem_paths(const Config *config, GPtrArray *warnings);

/* @paths, with the mounts that show all of a filesystem in the stead of a device that it lies on, or of a tag of it. */
char **named_filesystem_replace(char *const *paths);

/* Add to @warnings which disks are not there. */
void named_disks_check(const Config *config, GPtrArray *warnings);
