/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/file-users.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

/*
 * Who opens the file while the lease is held has its holder told by a signal, which would end the
 * process.  This one is ignored unless somebody asks for it.
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
