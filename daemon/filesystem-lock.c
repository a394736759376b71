/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/filesystem-lock.h"

#include "daemon/lock-file.h"
#include "kernel-ioctl/fd.h"

/* Who only looks for a holder has the lock for some microseconds. */
#define TRIES    11
#define TRY_USEC (10 * G_USEC_PER_SEC / 1000)

G_DEFINE_QUARK(dedupd - filesystem - lock - error - quark, filesystem_lock_error)

static char *holder_text(const char *uuid)
{
	pid_t holder = lock_file_holder(uuid);

	return holder > 0 ? g_strdup_printf("process %d", holder) : g_strdup("another process");
}

static int take_patiently(const char *uuid, bool *ret_is_held, GError **error)
{
	int fd = lock_file_take(uuid, ret_is_held, error);

	for (int i = 1; i < TRIES && *ret_is_held; i++) {
		g_usleep(TRY_USEC);
		fd = lock_file_take(uuid, ret_is_held, error);
	}

	return fd;
}

int filesystem_lock(const char *uuid, GError **error)
{
	g_autofree char *path = lock_file_path(uuid);
	g_autofree char *holder = NULL;
	g_autoptr(GError) failure = NULL;
	bool is_held;
	int fd = take_patiently(uuid, &is_held, &failure);

	if (is_held) {
		holder = holder_text(uuid);
		g_set_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE,
			    "another process works on the filesystem %s: %s (lock %s)", uuid,
			    holder, path);
	} else if (fd < 0) {
		g_set_error_literal(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_FAILED,
				    failure->message);
	}
	return fd;
}

char *filesystem_lock_holder(const char *uuid)
{
	bool is_held;
	int fd = lock_file_take(uuid, &is_held, NULL);

	fd_close(&fd);
	return is_held ? holder_text(uuid) : NULL;
}
