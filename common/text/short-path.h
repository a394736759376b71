/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stddef.h>

/*
 * ShortPath - a path for reports, built from its last name upwards, in memory of fixed size.
 *
 * A user can nest 30,000 directories with names of 255 bytes: 7.6 MB.  A path of more than 16 KiB, four times
 * the limit of a system call, is cut in the middle: "…" replaces whole names.
 *
 * Thread: any, one at a time.
 */
typedef struct ShortPath ShortPath;

/* The size limit in bytes, also of a path that was cut. */
#define SHORT_PATH_BYTES_MAX 16383

ShortPath *short_path_new(void);
void short_path_free(ShortPath *path);

/* Forget all names. */
void short_path_clear(ShortPath *path);

/* Add the directory entry @name above the earlier ones. */
void short_path_prepend(ShortPath *path, const char *name);

/* The path of the names added so far, below the directory @top, which may end with a slash.  To be freed. */
char *short_path_text(const ShortPath *path, const char *top);

/* A copy of @text, cut in the middle if it is too long.  To be freed. */
char *short_path_of(const char *text);

/* The same, escaped as name_text() does. */
char *short_path_escaped(const char *text);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ShortPath, short_path_free)
