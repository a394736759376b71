/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/quota-options.h"

#include <glib.h>

bool quota_options_are_on(const char *options)
{
	/* Of users, groups and projects, with limits that hold or are only watched (xfs(5)). */
	static const char *const on[] = {
		"quota",    "uquota", "usrquota", "uqnoenforce", "qnoenforce",  "gquota",
		"grpquota", "pquota", "prjquota", "gqnoenforce", "pqnoenforce", NULL,
	};
	g_auto(GStrv) words = g_strsplit(options ? options : "", ",", -1);

	for (char **word = words; *word; word++)
		if (g_strv_contains(on, *word))
			return true;
	return false;
}
