/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * What the options of a mount say, as the kernel shows them: those of the mount point, and those of the
 * filesystem's own (fields 6 and 11 of /proc/self/mountinfo, proc(5)).  NULL is none.
 *
 * Pure.  Thread: any.
 */

bool mount_options_are_read_only(const char *mount_options, const char *own_options);

/*
 * Whether an XFS counts the space of users, groups or projects (xfs(5)).  It counts a shared block to
 * each owner of a file that has it, so sharing relieves nobody's quota.
 */
bool mount_options_count_quota(const char *own_options);

/*
 * Why nothing can be shared by way of a mount; NULL: it can.  @path is what was named, and
 * @mount_point, where it lies, is what would have to be remounted.
 */
char *mount_options_refusal(const char *path, const char *mount_point, bool has_reflink,
			    bool is_read_only);
