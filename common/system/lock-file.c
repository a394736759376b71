/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/system/lock-file.h"

#include "common/system/lock-directory.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_FLAGS (O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

#define TRIES LOCK_FILE_TRIES

char *lock_file_path(const char *name)
{
	g_autofree char *directory = NULL;
	g_auto(Fd) fd = -1;

	if (lock_directory_open(&fd, &directory, NULL) != LOCK_DIRECTORY_OPENED)
		return NULL;
	return g_build_filename(directory, name, NULL);
}

/* The note serves only messages, so a failure does not matter. */
static void note_holder(int fd)
{
	if (ftruncate(fd, 0) != 0 || dprintf(fd, "%d\n", getpid()) < 0)
		g_debug("cannot note who holds a lock: %s", g_strerror(errno));
}

pid_t lock_file_holder(const char *name)
{
	g_autofree char *path = lock_file_path(name);
	g_autofree char *text = NULL;

	return path && g_file_get_contents(path, &text, NULL, NULL) ? (pid_t)atoi(text) : 0;
}

static LockFileOutcome fail(const char *tried, const char *path, GError **error)
{
	int cause = errno;

	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(cause),
		    "cannot %s the lock %s: %s", tried, path, g_strerror(cause));
	return LOCK_FILE_FAILED;
}

bool lock_file_is_at(int fd, const char *path)
{
	struct stat locked, named;

	return fstat(fd, &locked) == 0 && lstat(path, &named) == 0 &&
	       locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

LockFileOutcome lock_file_open(const char *name, int *ret_fd, char **ret_path, GError **error)
{
	g_autofree char *directory_path = NULL;
	g_autofree char *path = NULL;
	g_auto(Fd) directory = -1;

	*ret_fd = -1;
	*ret_path = NULL;
	switch (lock_directory_open(&directory, &directory_path, error)) {
	case LOCK_DIRECTORY_OPENED:
		break;
	case LOCK_DIRECTORY_NONE:
		return geteuid() == 0 ? LOCK_FILE_FAILED : LOCK_FILE_NO_PLACE;
	case LOCK_DIRECTORY_FAILED:
		return LOCK_FILE_FAILED;
	}

	path = g_build_filename(directory_path, name, NULL);
	*ret_fd = openat(directory, name, LOCK_FLAGS, 0600);
	if (*ret_fd < 0)
		return fail("open", path, error);

	*ret_path = g_steal_pointer(&path);
	return LOCK_FILE_OPENED;
}

/* *@ret_is_replaced: the caller must try again. */
static LockFileOutcome take_once(const char *name, int *ret_fd, bool *ret_is_replaced,
				 GError **error)
{
	g_autofree char *path = NULL;
	g_auto(Fd) fd = -1;
	LockFileOutcome outcome = lock_file_open(name, &fd, &path, error);

	*ret_is_replaced = false;
	if (outcome != LOCK_FILE_OPENED)
		return outcome;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? LOCK_FILE_HELD : fail("take", path, error);
	if (!lock_file_is_at(fd, path)) {
		*ret_is_replaced = true;
		errno = ESTALE;
		return fail("keep", path, error);
	}

	note_holder(fd);
	*ret_fd = fd_steal(&fd);
	return LOCK_FILE_TAKEN;
}

LockFileOutcome lock_file_take(const char *name, int *ret_fd, GError **error)
{
	g_autoptr(GError) failure = NULL;
	LockFileOutcome outcome = LOCK_FILE_FAILED;
	bool is_replaced = true;

	*ret_fd = -1;
	for (int i = 0; i < TRIES && is_replaced; i++) {
		g_clear_error(&failure);
		outcome = take_once(name, ret_fd, &is_replaced, &failure);
	}

	if (failure)
		g_propagate_error(error, g_steal_pointer(&failure));
	return outcome;
}
