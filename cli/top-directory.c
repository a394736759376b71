/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/top-directory.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static bool read_device(const char *path, dev_t *ret)
{
	struct stat stat;

	if (lstat(path, &stat) != 0)
		return false;

	*ret = stat.st_dev;
	return true;
}

char *top_directory_path(const char *path)
{
	g_autofree char *top = g_path_get_dirname(path);
	dev_t device, above;

	if (!read_device(top, &device))
		return g_strdup("(unreachable)");
	while (strcmp(top, "/") != 0) {
		g_autofree char *parent = g_path_get_dirname(top);

		if (!read_device(parent, &above) || above != device)
			break;
		g_free(top);
		top = g_steal_pointer(&parent);
	}

	return g_steal_pointer(&top);
}
