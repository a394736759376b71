/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Whether @pattern, of Exclude= or Include= without its '!', matches no name below @mount_point now.
 *
 * Only a pattern that begins at the mount point, or is an absolute path, can be looked for.  Of others, of those
 * with "**", and of what cannot be read, the answer is false.  May sleep: it reads directories.
 */
bool pattern_is_of_nothing(const char *mount_point, const char *pattern);
