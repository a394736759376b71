/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/mount-root.h"

#include "cli/arguments/long-path.h"
#include "kernel-ioctl/call/fd.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static bool read_device(const char *path, dev_t *ret)
{
	const char *name;
	g_auto(Fd) above = long_path_open_above(path, &name);
	struct stat stat;

	if (above < 0 || fstatat(above, name, &stat, AT_SYMLINK_NOFOLLOW) != 0)
		return false;

	*ret = stat.st_dev;
	return true;
}

char *mount_root_path(const char *path)
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
