/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/own-options.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

/* It ends the optional fields.  Blanks in other fields are encoded. */
#define HYPHEN " - "

/* The type and the source, between the hyphen and the options. */
#define FIELDS_AFTER_HYPHEN 2

struct OwnOptions {
	char *mountinfo;
	GHashTable *by_device; /* dev_t as uint64_t * -> char *; NULL: not read yet */
};

/* The last field of the line; NULL: it has too few. */
static const char *options_in(const char *line)
{
	const char *hyphen = strstr(line, HYPHEN);
	const char *at = hyphen ? hyphen + strlen(HYPHEN) : NULL;

	for (size_t i = 0; at && i < FIELDS_AFTER_HYPHEN; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}

static void add_line(OwnOptions *options, const char *line)
{
	unsigned on_major, on_minor;
	const char *own;
	uint64_t device;

	if (sscanf(line, "%*u %*u %u:%u", &on_major, &on_minor) != 2)
		return;

	own = options_in(line);
	device = makedev(on_major, on_minor);
	if (own && !g_hash_table_contains(options->by_device, &device))
		g_hash_table_insert(options->by_device, g_memdup2(&device, sizeof(device)),
				    g_strdup(own));
}

OwnOptions *own_options_new(const char *mountinfo)
{
	OwnOptions *options = g_new0(OwnOptions, 1);

	options->mountinfo = g_strdup(mountinfo);
	return options;
}

void own_options_free(OwnOptions *options)
{
	if (!options)
		return;

	g_clear_pointer(&options->by_device, g_hash_table_unref);
	g_free(options->mountinfo);
	g_free(options);
}

static void read_mountinfo(OwnOptions *options)
{
	g_autofree char *text = NULL;
	char *rest;

	options->by_device = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	if (!g_file_get_contents(options->mountinfo, &text, NULL, NULL))
		return;

	rest = text;
	for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
		add_line(options, line);
}

const char *own_options_of(OwnOptions *options, unsigned major, unsigned minor)
{
	const uint64_t device = makedev(major, minor);

	if (!options->by_device)
		read_mountinfo(options);
	return g_hash_table_lookup(options->by_device, &device);
}

char *own_options_read(const char *mountinfo, unsigned major, unsigned minor)
{
	g_autoptr(OwnOptions) options = own_options_new(mountinfo);

	return g_strdup(own_options_of(options, major, minor));
}
