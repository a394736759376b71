/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Filter - which files of a walk are looked at: --exclude and --min-size, and what the configuration
 * excludes.
 *
 * A glob without a slash is matched with the last component of each name, one with a slash with the
 * absolute path and with the path below the directory that the walk began with; `*` stops at no
 * slash.  A directory that matches is not entered.
 *
 * The patterns of the configuration are IgnoreRules.
 *
 * Thread: the filesystem's worker.
 */
typedef struct Filter Filter;

/*
 * No glob is tried on longer paths, since that takes as long as they are: what they lead to is left alone.
 * No program passes more than 4 KiB to the kernel in one piece.
 */
#define FILTER_PATH_BYTES_MAX ((size_t)16 << 10)

Filter *filter_new(char *const *globs, uint64_t min_size_bytes);
void filter_free(Filter *filter);

/*
 * Exclude by @patterns, too, of which those with a slash begin at the directory @top, an absolute path,
 * or where the walk began if that is elsewhere.
 */
void filter_set_patterns(Filter *filter, char *const *patterns, const char *top);

/* Globs and patterns that each path is matched with. */
size_t filter_globs(const Filter *filter);

/* Whether the file @name at the absolute @path is excluded; @relative is a tail of @path. */
bool filter_excludes(Filter *filter, const char *path, const char *relative, const char *name);

/* The same for a directory. */
bool filter_excludes_directory(Filter *filter, const char *path, const char *relative,
			       const char *name);

/*
 * Whether a walk that begins with the first @root_bytes of the absolute @path would not come to its
 * end: the file is excluded, or a directory on the way to it.
 */
bool filter_excludes_below(Filter *filter, const char *path, size_t root_bytes);

/* The same: the glob or pattern that does it, borrowed; NULL: none does. */
const char *filter_find_below(Filter *filter, const char *path, size_t root_bytes);

/* Have files count as young that were written to at @since_nsec or later, and not after @now_nsec. */
void filter_set_young(Filter *filter, int64_t since_nsec, int64_t now_nsec);

/* Whether a file with this modification time is young; one from the future is of unknown age, and not. */
bool filter_is_young(const Filter *filter, int64_t mtime_nsec);

bool filter_is_small(const Filter *filter, uint64_t size_bytes);

/* The globs that matched nothing so far: a NULL-terminated array to g_free(), texts borrowed. */
const char **filter_unmatched(const Filter *filter);

/* The same of the patterns of the configuration, in which ! stands before those of Include=. */
const char **filter_unmatched_patterns(const Filter *filter);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Filter, filter_free)
