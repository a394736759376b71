/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/settings/setting-text.h"
#include "common/config/settings.h"
#include "common/files/filter.h"
#include "common/files/skip.h"

/*
 * FileRules - what the configuration in force makes of files of one filesystem.
 *
 * Thread: main.
 */
typedef struct {
	const Settings *settings;
	SettingOrigins origins;
	Filter *filter;
	char *top; /* where patterns begin */
} FileRules;

/* All is borrowed.  @mount_point NULL: not known. */
FileRules *file_rules_new(const Settings *settings, const SettingOrigins *origins,
			  const char *mount_point);
void file_rules_free(FileRules *rules);

/* The pattern that excludes the file at @path, borrowed; NULL: none does. */
const char *file_rules_find_pattern(const FileRules *rules, const char *path);

bool file_rules_make_small(const FileRules *rules, const NamedFile *file);

/*
 * Whether it is a file of a btrfs without copy-on-write; and for what such a one is left alone: for that, or, by
 * what it begins with, as a swap file.
 */
bool file_rules_has_no_cow(const NamedFile *file, SkipReason *ret_reason);

/* Why a pass left a file alone for @reason, and what would change that.  To be freed with g_free(). */
char *file_rules_text(const FileRules *rules, SkipReason reason);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileRules, file_rules_free)
