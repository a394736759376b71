/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/mount-devices.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The index of the device number in a line of mountinfo. */
#define DEVICE_FIELD 2

/* The options' distance from the hyphen that ends the optional fields: type, source, options. */
#define OPTIONS_AFTER_HYPHEN 3

static bool is_of_device(char *const *fields, unsigned major, unsigned minor)
{
	unsigned of_major, of_minor;

	return g_strv_length((char **)fields) > DEVICE_FIELD &&
	       sscanf(fields[DEVICE_FIELD], "%u:%u", &of_major, &of_minor) == 2 &&
	       of_major == major && of_minor == minor;
}

/* The filesystem's own options, or NULL. */
static const char *options_of(char *const *fields)
{
	guint n = g_strv_length((char **)fields);

	for (guint i = DEVICE_FIELD; i + OPTIONS_AFTER_HYPHEN < n; i++)
		if (strcmp(fields[i], "-") == 0)
			return fields[i + OPTIONS_AFTER_HYPHEN];

	return NULL;
}

static void add_devices(GPtrArray *paths, const char *options)
{
	g_auto(GStrv) parts = g_strsplit(options, ",", -1);

	for (char **part = parts; *part; part++) {
		const char *value = strchr(*part, '=');

		/* mountinfo writes blanks as \040. */
		if (g_str_has_prefix(*part, "logdev=") || g_str_has_prefix(*part, "rtdev="))
			g_ptr_array_add(paths, g_strcompress(value + 1));
	}
}

char **mount_devices_read(const char *mountinfo, unsigned major, unsigned minor)
{
	GPtrArray *paths = g_ptr_array_new();
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (g_file_get_contents(mountinfo, &text, NULL, NULL))
		lines = g_strsplit(text, "\n", -1);

	/* All mounts of one filesystem show the same options. */
	for (char **line = lines; line && *line && paths->len == 0; line++) {
		g_auto(GStrv) fields = g_strsplit(*line, " ", -1);
		const char *options =
			is_of_device(fields, major, minor) ? options_of(fields) : NULL;

		if (options)
			add_devices(paths, options);
	}

	g_ptr_array_add(paths, NULL);
	return (char **)g_ptr_array_free(paths, false);
}
