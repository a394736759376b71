/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Path - absolute paths, compared as text.
 *
 * Pure.  Thread: any.
 */

/* True if @path is @directory or lies below it.  Neither ends with a slash, except "/". */
bool path_lies_in(const char *path, const char *directory);
