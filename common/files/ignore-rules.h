/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * IgnoreRules - patterns like those of gitignore(5), for paths to skip.
 *
 * The last matching pattern decides; one that begins with ! includes the path again.  A pattern with a slash
 * at its begin or inside starts at the top, others match at any depth.  One with a slash at its end matches
 * only directories.  `*` and `?` match no slash; `**` between slashes matches any number of directories.  Names
 * are bytes.
 *
 * The contents of an ignored directory are never tested, so they cannot be included again.
 *
 * Thread: the filesystem's worker.
 */
typedef struct IgnoreRules IgnoreRules;

/*
 * @patterns is NULL-terminated, or NULL.  Paths begin at the directory @top (NULL: not known).  A pattern that
 * is an absolute path below @top also matches that path.
 */
IgnoreRules *ignore_rules_new(char *const *patterns, const char *top);
void ignore_rules_free(IgnoreRules *rules);

size_t ignore_rules_count(const IgnoreRules *rules);

/* True if @path, which has no slash at its begin, is ignored. */
bool ignore_rules_ignore(IgnoreRules *rules, const char *path, bool is_directory);

/* The pattern that ignores it, borrowed; NULL: none. */
const char *ignore_rules_find(IgnoreRules *rules, const char *path, bool is_directory);

/* Append the patterns that matched no path so far, borrowed, to @unmatched. */
void ignore_rules_add_unmatched(const IgnoreRules *rules, GPtrArray *unmatched);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(IgnoreRules, ignore_rules_free)
