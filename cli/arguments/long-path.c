/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/long-path.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#define PLACE_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* With room for the end of the text, and for what goes before a piece. */
#define PIECE_BYTES_MAX (PATH_MAX - 2)

/* How many bytes of the @length at @path can be gone at once: up to a slash, and with it. */
static size_t stride(const char *path, size_t length)
{
	const char *slash;

	if (length <= PIECE_BYTES_MAX)
		return length;
	slash = memrchr(path, '/', PIECE_BYTES_MAX);
	return slash ? (size_t)(slash - path) + 1 : length;
}

int long_path_open_above(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	const char *end = slash ? slash + 1 : path;
	g_auto(Fd) above = open(*path == '/' ? "/" : ".", PLACE_FLAGS);
	size_t length;

	*ret_name = *end ? end : ".";
	for (const char *at = path; above >= 0 && at < end; at += length) {
		g_autofree char *piece = NULL;
		Fd next;

		length = stride(at, (size_t)(end - at));
		/* Only the first piece begins where all paths do. */
		piece = g_strdup_printf("%s%.*s", at > path && *at == '/' ? "." : "", (int)length,
					at);
		next = openat(above, piece, PLACE_FLAGS);
		fd_close(&above);
		above = next;
	}

	return fd_steal(&above);
}
