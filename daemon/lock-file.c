/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/lock-file.h"

#include "kernel-ioctl/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_DIRECTORY "/run/lock/dedupd"

static char *lock_directory(void)
{
	return geteuid() == 0 ? g_strdup(LOCK_DIRECTORY)
			      : g_build_filename(g_get_user_runtime_dir(), "dedupd", NULL);
}

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

char *lock_file_path(const char *name)
{
	g_autofree char *directory = lock_directory();

	return g_build_filename(directory, name, NULL);
}

/* For who is kept out; that it is not noted keeps nobody from working. */
static void note_holder(int fd)
{
	if (ftruncate(fd, 0) != 0 || dprintf(fd, "%d\n", getpid()) < 0)
		g_debug("cannot note who holds a lock: %s", g_strerror(errno));
}

pid_t lock_file_holder(const char *name)
{
	g_autofree char *path = lock_file_path(name);
	g_autofree char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? (pid_t)atoi(text) : 0;
}

int lock_file_take(const char *name, bool *ret_is_held, GError **error)
{
	g_autofree char *directory = lock_directory();
	g_autofree char *path = lock_file_path(name);
	g_auto(Fd) fd = -1;

	*ret_is_held = false;
	if (g_mkdir_with_parents(directory, 0755) == 0 && is_ours(directory))
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
			    "cannot open the lock %s: %s", path, g_strerror(errno));
		return -1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		note_holder(fd);
		return fd_steal(&fd);
	}

	*ret_is_held = errno == EWOULDBLOCK;
	if (!*ret_is_held)
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
			    "cannot lock %s: %s", path, g_strerror(errno));
	return -1;
}
