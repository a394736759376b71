/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/equal-choice.h"

#include "kernel-ioctl/file/file-stat.h"

#include <fcntl.h>

/* The maximum number of files whose owner is looked up. */
#define OWNERS_MOST 64

/* A file that cannot be examined is taken for another user's. */
static bool is_foreign(const NamedFile *file, const char *path)
{
	FileStat stat;

	return file_stat_at(AT_FDCWD, path, &stat) != 0 || stat.uid != file->stat.uid;
}

EqualChoice equal_choice_make(const FileReport *report, const NamedFile *file,
			      const FileRules *rules)
{
	EqualChoice excluded = { 0 }, foreign = { 0 };
	guint n_asked = 0;

	for (guint i = 0; i < report->others->len && n_asked < OWNERS_MOST; i++) {
		const ReportedFile *other = &g_array_index(report->others, ReportedFile, i);
		const char *pattern;

		if (other->relation != OTHER_EQUALS || !other->path)
			continue;
		pattern = file_rules_find_pattern(rules, other->path);
		if (pattern) {
			if (!excluded.path)
				excluded = (EqualChoice){ EQUAL_EXCLUDED, other->path, pattern };
			continue;
		}
		n_asked++;
		if (!is_foreign(file, other->path))
			return (EqualChoice){ EQUAL_LEFT, other->path, NULL };
		if (!foreign.path)
			foreign = (EqualChoice){ EQUAL_FOREIGN, other->path, NULL };
	}

	return foreign.path ? foreign : excluded;
}
