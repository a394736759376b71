/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/pattern-look.h"

#include "common/text/path.h"

#include <glib.h>
#include <glob.h>
#include <string.h>

/* A glob that matches @directory only. */
static char *literal(const char *directory)
{
	GString *text = g_string_new(NULL);

	for (; *directory; directory++) {
		if (strchr("*?[\\", *directory))
			g_string_append_c(text, '\\');
		g_string_append_c(text, *directory);
	}
	return g_string_free(text, FALSE);
}

static bool is_there(const char *pattern)
{
	glob_t found = { 0 };
	int failed = glob(pattern, GLOB_NOSORT | GLOB_PERIOD, NULL, &found);

	globfree(&found);
	/* An unreadable directory may have a match. */
	return failed != GLOB_NOMATCH;
}

/* True if the pattern begins at the mount point. */
static bool is_anchored(const char *pattern)
{
	const char *slash = strchr(pattern, '/');

	return slash && slash[strspn(slash, "/")] != '\0' && !strstr(pattern, "**");
}

static bool matches_any(const char *mount_point, const char *pattern)
{
	g_autofree char *top = literal(mount_point);
	g_autofree char *below = g_strconcat(top, "/", pattern, NULL);

	return is_there(below) || (path_lies_in(pattern, mount_point) && is_there(pattern));
}

bool pattern_is_of_nothing(const char *mount_point, const char *pattern)
{
	return is_anchored(pattern) && !matches_any(mount_point, pattern);
}
