/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/thread-io.h"

#include <glib.h>
#include <string.h>

#define READ_BYTES_KEY  "\nread_bytes: "
#define WRITE_BYTES_KEY "\nwrite_bytes: "

static bool find_number(const char *text, const char *key, uint64_t *ret)
{
	const char *line = strstr(text, key);

	if (!line)
		return false;

	*ret = g_ascii_strtoull(line + strlen(key), NULL, 10);
	return true;
}

static bool read_file(const char *path, ThreadIo *ret)
{
	g_autofree char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) &&
	       find_number(text, READ_BYTES_KEY, &ret->read_bytes) &&
	       find_number(text, WRITE_BYTES_KEY, &ret->write_bytes);
}

bool thread_io_read(ThreadIo *ret)
{
	return read_file("/proc/thread-self/io", ret);
}

bool thread_io_read_of(int id, ThreadIo *ret)
{
	g_autofree char *path = g_strdup_printf("/proc/self/task/%d/io", id);

	return read_file(path, ret);
}

uint64_t thread_io_read_bytes(void)
{
	ThreadIo io;

	return thread_io_read(&io) ? io.read_bytes : 0;
}
