/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/filesystem-lock.h"

#include "kernel-ioctl/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LOCK_DIRECTORY "/run/lock/dedupd"

G_DEFINE_QUARK(dedupd - filesystem - lock - error - quark, filesystem_lock_error)

/* Anyone may make a directory below /run/lock: one that others can change locks nothing. */
static bool is_ours(const char *directory)
{
	struct stat st;

	if (lstat(directory, &st) != 0)
		return false;
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 0022))
		return true;

	errno = EPERM;
	return false;
}

int filesystem_lock(const char *uuid, GError **error)
{
	g_autofree char *directory =
		geteuid() == 0 ? g_strdup(LOCK_DIRECTORY)
			       : g_build_filename(g_get_user_runtime_dir(), "dedupd", NULL);
	g_autofree char *path = g_build_filename(directory, uuid, NULL);
	g_auto(Fd) fd = -1;

	if (g_mkdir_with_parents(directory, 0755) == 0 && is_ours(directory))
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		g_set_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_FAILED,
			    "cannot open the lock %s: %s", path, g_strerror(errno));
		return -1;
	}

	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		g_set_error(error, FILESYSTEM_LOCK_ERROR,
			    errno == EWOULDBLOCK ? FILESYSTEM_LOCK_ERROR_IN_USE
						 : FILESYSTEM_LOCK_ERROR_FAILED,
			    errno == EWOULDBLOCK
				    ? "another process works on the filesystem %s (lock %s)"
				    : "cannot lock the filesystem %s (%s)",
			    uuid, path);
		return -1;
	}

	return fd_steal(&fd);
}
