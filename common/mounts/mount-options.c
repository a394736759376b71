/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/mount-options.h"

#include <glib.h>

/* True if one of @names is among @options, which are separated by commas. */
static bool has_any(const char *options, const char *const *names)
{
	g_auto(GStrv) words = g_strsplit(options ? options : "", ",", -1);

	for (char **word = words; *word; word++)
		if (g_strv_contains(names, *word))
			return true;
	return false;
}

bool mount_options_are_read_only(const char *mount_options, const char *own_options)
{
	static const char *const read_only[] = { "ro", NULL };

	return has_any(mount_options, read_only) || has_any(own_options, read_only);
}

bool mount_options_count_quota(const char *own_options)
{
	/* Options of user, group and project quotas, enforced or only counted. */
	static const char *const on[] = {
		"quota",    "uquota", "usrquota", "uqnoenforce", "qnoenforce",  "gquota",
		"grpquota", "pquota", "prjquota", "gqnoenforce", "pqnoenforce", NULL,
	};

	return has_any(own_options, on);
}

char *mount_options_refusal(const char *path, const char *mount_point, bool has_reflink,
			    bool is_read_only)
{
	if (!has_reflink)
		return g_strdup_printf("%s is on an XFS filesystem without reflink: make a new one "
				       "with 'mkfs.xfs -m reflink=1', and copy the files there",
				       path);
	if (is_read_only)
		return g_strdup_printf("%s is mounted read-only: nothing can be deduplicated there",
				       mount_point);
	return NULL;
}
