/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/settings/setting-text.h"
#include "common/config/settings.h"
#include "common/files/filter.h"
#include "common/files/skip.h"

/*
 * FileRules - applies the configuration in force to files of one filesystem.
 *
 * Thread: main.
 */
typedef struct {
	const Settings *settings;
	SettingOrigins origins;
	Filter *filter;
	char *top; /* the directory where patterns begin */
} FileRules;

/* All pointers are borrowed.  @mount_point is NULL if it is not known. */
FileRules *file_rules_new(const Settings *settings, const SettingOrigins *origins,
			  const char *mount_point);
void file_rules_free(FileRules *rules);

/* The pattern that excludes the file at @path, borrowed; NULL: none does. */
const char *file_rules_find_pattern(const FileRules *rules, const char *path);

bool file_rules_make_small(const FileRules *rules, const NamedFile *file);

/*
 * Whether it is a btrfs file without copy-on-write.  *ret_reason is why such a file is skipped: for that, or as
 * a swap file, which its first bytes tell.
 */
bool file_rules_has_no_cow(const NamedFile *file, SkipReason *ret_reason);

/* Explain why a pass skipped a file for @reason, and what would change that.  To be freed with g_free(). */
char *file_rules_text(const FileRules *rules, SkipReason reason);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileRules, file_rules_free)
