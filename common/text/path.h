/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Absolute paths, compared as text.
 *
 * Pure.  Thread: any.
 */

/* Whether @path is @directory or lies below it; neither ends with a slash, save "/". */
bool path_lies_in(const char *path, const char *directory);
