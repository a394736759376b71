/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/thread-io.h"

#include <glib.h>
#include <string.h>

#define READ_BYTES_KEY "\nread_bytes: "

bool thread_io_read_bytes(uint64_t *ret)
{
	g_autofree char *text = NULL;
	const char *line;

	if (!g_file_get_contents("/proc/thread-self/io", &text, NULL, NULL))
		return false;

	line = strstr(text, READ_BYTES_KEY);
	if (!line)
		return false;

	*ret = g_ascii_strtoull(line + strlen(READ_BYTES_KEY), NULL, 10);
	return true;
}
