/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/long-path.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

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

char *long_path_find_root(const char *path)
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
