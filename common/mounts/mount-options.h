/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * MountOptions - interprets the options of a mount: those of the mount point, and those of the filesystem
 * (fields 6 and 11 of /proc/self/mountinfo, proc(5)).  NULL: none.
 *
 * Pure.  Thread: any.
 */

bool mount_options_are_read_only(const char *mount_options, const char *own_options);

/*
 * True if an XFS filesystem counts the space of users, groups or projects (xfs(5)).  It counts a shared block
 * for the owner of each file, so sharing relieves no quota.
 */
bool mount_options_count_quota(const char *own_options);

/*
 * Why nothing can be shared through a mount; NULL: it can.  @path is the user's argument; @mount_point, which
 * contains it, would have to be remounted.
 */
char *mount_options_refusal(const char *path, const char *mount_point, bool has_reflink,
			    bool is_read_only);
