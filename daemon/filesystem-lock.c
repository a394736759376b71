/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/filesystem-lock.h"

#include "daemon/lock-file.h"

G_DEFINE_QUARK(dedupd - filesystem - lock - error - quark, filesystem_lock_error)

int filesystem_lock(const char *uuid, GError **error)
{
	g_autofree char *path = lock_file_path(uuid);
	g_autoptr(GError) failure = NULL;
	bool is_held;
	int fd = lock_file_take(uuid, &is_held, &failure);

	if (is_held)
		g_set_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE,
			    "another process works on the filesystem %s (lock %s)", uuid, path);
	else if (fd < 0)
		g_set_error_literal(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_FAILED,
				    failure->message);
	return fd;
}
