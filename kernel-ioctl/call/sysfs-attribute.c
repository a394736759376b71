/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/call/sysfs-attribute.h"

#include <glib.h>
#include <string.h>

char *sysfs_attribute(const char *directory, const char *name)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);
	g_autofree char *text = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return NULL;

	text[strcspn(text, "\n")] = '\0';
	return *text ? g_steal_pointer(&text) : NULL;
}
