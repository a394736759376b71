/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * RunPaths - directories and files that the user named for a pass, grouped by filesystem.
 *
 * One RunPaths has at most as many paths as one pass takes.  More paths make several RunPaths of the
 * filesystem, each for a pass of its own.
 *
 * Thread: main.
 */
typedef struct {
	char *uuid;
	bool is_rest; /* an earlier RunPaths has the first paths of this filesystem */
	bool is_btrfs;
	char **paths; /* absolute, without links; NULL-terminated */
} RunPaths;

/* Limits of the service's Run method, and of a message on the system bus. */
#define RUN_PATHS_MOST       1024
#define RUN_PATHS_BYTES_MOST (192 << 10)

/* More names are refused: this many take about 100 MiB. */
#define RUN_LIST_MOST 1000000

/*
 * Group the NULL-terminated @names by filesystem, in the order in which filesystems are first named.  The error
 * says which name does not exist, or lies on neither btrfs nor XFS.
 */
GPtrArray *run_paths_find(char *const *names, GError **error);

/*
 * Like run_paths_find(), but skip names that cannot be found: files of a long list may be deleted
 * meanwhile.  *@ret_n_left_out is their number.  *@ret_first describes the first one; NULL: none
 * was left out.
 */
GPtrArray *run_paths_find_listed(char *const *names, size_t *ret_n_left_out, GError **ret_first);

/* Read names from the file @path, or from standard input (-).  Each name ends with @end.  NULL-terminated. */
GStrv run_paths_read(const char *path, char end, GError **error);
