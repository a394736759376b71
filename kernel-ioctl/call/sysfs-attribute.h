/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The first line of the file @name in @directory of sysfs, or NULL if the file is missing or empty.  Only the line's
 * end is removed, so names keep their spaces.
 *
 * Thread: any.
 */
char *sysfs_attribute(const char *directory, const char *name);
