/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/file-users.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

/*
 * The kernel signals the holder of a lease when somebody opens the file; the default signal would end the
 * process.  This one is ignored by default.
 */
#define BREAK_SIGNAL SIGURG

FileUsers file_users_ask(int fd, bool writers_only)
{
	if (fcntl(fd, F_SETSIG, BREAK_SIGNAL) < 0)
		return FILE_USERS_UNKNOWN;

	if (fcntl(fd, F_SETLEASE, writers_only ? F_RDLCK : F_WRLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return FILE_USERS_NONE;
	}

	return errno == EAGAIN ? FILE_USERS_OTHERS : FILE_USERS_UNKNOWN;
}
