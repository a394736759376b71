/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * IgnoreRules - patterns as gitignore(5) has them: which paths are left alone.
 *
 * Of all patterns that match a path the last decides; one that begins with ! takes it back in.  One
 * with a slash at its beginning or within begins where the paths do, others match at any depth; one
 * with a slash at its end is for directories alone.  `*` and `?` match no slash, and `**` between
 * slashes any number of directories.  Names are bytes.
 *
 * What lies below an ignored directory is not asked for, so that it cannot be taken back in.
 *
 * Thread: the filesystem's worker.
 */
typedef struct IgnoreRules IgnoreRules;

/*
 * @patterns is NULL-terminated, or NULL.  Paths begin at the directory @top (NULL: not known).  A pattern that is an
 * absolute path below @top also means that path.
 */
IgnoreRules *ignore_rules_new(char *const *patterns, const char *top);
void ignore_rules_free(IgnoreRules *rules);

size_t ignore_rules_count(const IgnoreRules *rules);

/* Whether @path, which begins with no slash, is ignored. */
bool ignore_rules_ignore(IgnoreRules *rules, const char *path, bool is_directory);

/* The pattern that has it ignored, borrowed; NULL: it is not. */
const char *ignore_rules_find(IgnoreRules *rules, const char *path, bool is_directory);

/* Append the patterns that matched no path so far, borrowed, to @unmatched. */
void ignore_rules_add_unmatched(const IgnoreRules *rules, GPtrArray *unmatched);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(IgnoreRules, ignore_rules_free)
