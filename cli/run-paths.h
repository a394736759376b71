/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * RunPaths - directories and files that somebody names for a pass, by the filesystem that they lie on.
 *
 * Thread: main.
 */
typedef struct {
	char *uuid;
	char **paths; /* absolute, without links; NULL-terminated */
} RunPaths;

/*
 * One RunPaths for each filesystem, in the order in which they are first named.  The error says which of
 * @names, NULL-terminated, there is not, or lies on neither btrfs nor XFS.
 */
GPtrArray *run_paths_find(char *const *names, GError **error);
