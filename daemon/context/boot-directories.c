/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/boot-directories.h"

#include <fcntl.h>
#include <glib.h>
#include <string.h>

static const char *const boot_directories[BOOT_DIRECTORIES] = { "/boot", "/boot/efi", "/efi" };

int boot_directory_open(size_t number)
{
	return open(boot_directories[number], O_PATH | O_CLOEXEC);
}

bool boot_directory_is_named(size_t number, const char *path)
{
	const char *directory = boot_directories[number];
	const char *rest = g_str_has_prefix(path, directory) ? path + strlen(directory) : NULL;

	return rest && (*rest == '/' || *rest == '\0');
}
