/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"
#include "kernel-ioctl/file/fs-identity.h"

/*
 * Filter - which files of a walk are considered: --exclude, --min-size, and the configured patterns.
 *
 * A glob without a slash is matched with the last component of each name.  One with a slash is matched with
 * the absolute path, and with the path below the start of the walk; `*` also matches slashes.  A matching
 * directory is not entered.
 *
 * The configured patterns are IgnoreRules.
 *
 * Thread: the filesystem's worker.
 */
typedef struct Filter Filter;

/*
 * The longest path that globs are tried on, since the time grows with it.  Longer paths are skipped.  No
 * program passes more than 4 KiB to the kernel in one piece.
 */
#define FILTER_PATH_BYTES_MAX ((size_t)16 << 10)

Filter *filter_new(char *const *globs, uint64_t min_size_bytes);

/* The size below which files are not read, with the default for @kind. */
uint64_t filter_min_size_bytes(const Settings *settings, FsKind kind);
void filter_free(Filter *filter);

/*
 * Also exclude by @patterns.  Those with a slash begin at the directory @top, an absolute path, or at the
 * start of the walk if that is elsewhere.
 */
void filter_set_patterns(Filter *filter, char *const *patterns, const char *top);

/* The number of globs and patterns. */
size_t filter_globs(const Filter *filter);

/* True if the file @name at the absolute @path is excluded; @relative is a tail of @path. */
bool filter_excludes(Filter *filter, const char *path, const char *relative, const char *name);

/* The same for a directory. */
bool filter_excludes_directory(Filter *filter, const char *path, const char *relative,
			       const char *name);

/*
 * True if a walk from the first @root_bytes of the absolute @path would not reach its end: the file, or a
 * directory on the way, is excluded.
 */
bool filter_excludes_below(Filter *filter, const char *path, size_t root_bytes);

/* The glob or pattern that excludes it in that way, borrowed; NULL: none. */
const char *filter_find_below(Filter *filter, const char *path, size_t root_bytes);

/* Let files count as young that were written from @since_nsec to @now_nsec. */
void filter_set_young(Filter *filter, int64_t since_nsec, int64_t now_nsec);

/* True if a file with this modification time is young.  A time in the future says nothing, so it is not. */
bool filter_is_young(const Filter *filter, int64_t mtime_nsec);

bool filter_is_small(const Filter *filter, uint64_t size_bytes);

/* The globs that matched nothing so far: a NULL-terminated array to g_free(), texts borrowed. */
const char **filter_unmatched(const Filter *filter);

/* The same for the configured patterns; those of Include= begin with "!". */
const char **filter_unmatched_patterns(const Filter *filter);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Filter, filter_free)
