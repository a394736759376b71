/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/own-options.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The index of the device number in a line of mountinfo. */
#define DEVICE_FIELD 2

/* Behind the hyphen that ends the optional fields: type, source, options. */
#define OPTIONS_AFTER_HYPHEN 3

static bool is_of_device(char *const *fields, unsigned major, unsigned minor)
{
	unsigned of_major, of_minor;

	return g_strv_length((char **)fields) > DEVICE_FIELD &&
	       sscanf(fields[DEVICE_FIELD], "%u:%u", &of_major, &of_minor) == 2 &&
	       of_major == major && of_minor == minor;
}

static const char *options_of(char *const *fields)
{
	guint n = g_strv_length((char **)fields);

	for (guint i = DEVICE_FIELD; i + OPTIONS_AFTER_HYPHEN < n; i++)
		if (strcmp(fields[i], "-") == 0)
			return fields[i + OPTIONS_AFTER_HYPHEN];

	return NULL;
}

char *own_options_read(const char *mountinfo, unsigned major, unsigned minor)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (g_file_get_contents(mountinfo, &text, NULL, NULL))
		lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; line && *line; line++) {
		g_auto(GStrv) fields = g_strsplit(*line, " ", -1);

		if (is_of_device(fields, major, minor))
			return g_strdup(options_of(fields));
	}
	return NULL;
}
