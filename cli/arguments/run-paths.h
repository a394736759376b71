/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * RunPaths - directories and files that somebody names for a pass, by the filesystem that they lie on.
 *
 * There are at most as many of them as a pass takes: where more are named there are several RunPaths of the
 * filesystem, each for a pass of its own.
 *
 * Thread: main.
 */
typedef struct {
	char *uuid;
	bool is_rest; /* of more paths than one pass takes, for the first of which there is another */
	bool is_btrfs;
	char **paths; /* absolute, without links; NULL-terminated */
} RunPaths;

/* What Run of the service takes, and what fits a message on the system bus. */
#define RUN_PATHS_MOST       1024
#define RUN_PATHS_BYTES_MOST (192 << 10)

/* More names are refused: that many take about 100 MiB. */
#define RUN_LIST_MOST 1000000

/*
 * What @names, NULL-terminated, are, in the order in which filesystems are first named.  The error says which of them
 * there is not, or lies on neither btrfs nor XFS.
 */
GPtrArray *run_paths_find(char *const *names, GError **error);

/*
 * The same, but what cannot be found is left out, as files of a long list are deleted meanwhile: *@ret_n_left_out of
 * them, of which *@ret_first says the first one; NULL: none.
 */
GPtrArray *run_paths_find_listed(char *const *names, size_t *ret_n_left_out, GError **ret_first);

/* Names in the file @path, or standard input (-), each ended by @end; NULL-terminated. */
GStrv run_paths_read(const char *path, char end, GError **error);
