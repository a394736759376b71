/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/mount-devices.h"

#include "kernel-ioctl/file/own-options.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

char **mount_devices_read(const char *mountinfo, unsigned major, unsigned minor)
{
	g_autofree char *options = own_options_read(mountinfo, major, minor);
	g_auto(GStrv) parts = g_strsplit(options ? options : "", ",", -1);
	GPtrArray *paths = g_ptr_array_new();

	for (char **part = parts; *part; part++) {
		/* mountinfo writes blanks as \040. */
		if (g_str_has_prefix(*part, "logdev=") || g_str_has_prefix(*part, "rtdev="))
			g_ptr_array_add(paths, g_strcompress(strchr(*part, '=') + 1));
	}

	g_ptr_array_add(paths, NULL);
	return (char **)g_ptr_array_free(paths, false);
}
