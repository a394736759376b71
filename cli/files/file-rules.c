/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/file-rules.h"

#include "common/files/advice.h"
#include "common/files/special-files.h"
#include "common/text/path.h"

#include <string.h>
#include <unistd.h>

/* Signatures of swap files and others. */
#define HEAD_BYTES ((size_t)64 << 10)

FileRules *file_rules_new(const Settings *settings, const SettingOrigins *origins,
			  const char *mount_point)
{
	FileRules *rules = g_new0(FileRules, 1);

	rules->settings = settings;
	rules->origins = *origins;
	rules->top = g_strdup(mount_point ? mount_point : "/");
	rules->filter = filter_new(settings->excludes, 0);
	if (settings->patterns)
		filter_set_patterns(rules->filter, settings->patterns, rules->top);
	return rules;
}

void file_rules_free(FileRules *rules)
{
	if (!rules)
		return;

	filter_free(rules->filter);
	g_free(rules->top);
	g_free(rules);
}

const char *file_rules_find_pattern(const FileRules *rules, const char *path)
{
	if (!path_lies_in(path, rules->top))
		return NULL;
	return filter_find_below(rules->filter, path, strlen(rules->top));
}

bool file_rules_make_small(const FileRules *rules, const NamedFile *file)
{
	return rules->settings->min_size_bytes != SETTINGS_MIN_SIZE_UNSET &&
	       file->stat.size_bytes < rules->settings->min_size_bytes;
}

bool file_rules_has_no_cow(const NamedFile *file, SkipReason *ret_reason)
{
	g_autofree uint8_t *head = NULL;
	FileAttributes attributes;
	ssize_t n;

	if (file->identity.kind != FS_KIND_BTRFS ||
	    !file_attributes_read(file->fd, file->identity.kind, &attributes, NULL) ||
	    !attributes.is_no_cow)
		return false;

	head = g_malloc(HEAD_BYTES);
	n = pread(file->fd, head, HEAD_BYTES, 0);
	if (n <= 0 || !special_files_match(head, (size_t)n, ret_reason))
		*ret_reason = SKIP_NO_COW;
	return true;
}

char *file_rules_text(const FileRules *rules, SkipReason reason)
{
	switch (reason) {
	case SKIP_EXCLUDED:
		return g_strdup("the configuration excluded it then, and does not now: the next "
				"pass takes it");
	case SKIP_NO_SUMS:
		return g_strdup("the filesystem keeps no checksums of it, or its space is "
				"reserved and not written yet");
	default:
		return setting_text_of_advice(&rules->origins, advice_of_skip(reason));
	}
}
