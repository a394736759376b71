/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <unistd.h>

/*
 * Fd - a file descriptor that closes itself: g_auto(Fd) fd = -1;
 *
 * Thread: any.
 */
typedef int Fd;

static inline void fd_close(Fd *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Hand the descriptor on: the variable no longer owns it. */
static inline int fd_steal(Fd *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fd, fd_close)
