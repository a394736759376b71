/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * True if @pattern, of Exclude= or Include= without its '!', matches no name below @mount_point now.
 *
 * Only a pattern that begins at the mount point, or is an absolute path, is searched for.  For others, for
 * those with "**", and for unreadable directories, the answer is false.  May sleep: it reads directories.
 */
bool pattern_is_of_nothing(const char *mount_point, const char *pattern);
