/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The messages that sd-daemon(3) sends to systemd, and those that it takes from it.  Builds without
 * libsystemd tell nobody.  Thread: main.
 */

#ifndef WITHOUT_SYSTEMD

#include <systemd/sd-daemon.h>

#define BUILT_WITH_SYSTEMD 1

#else

#include <glib.h>
#include <sys/socket.h>

#define BUILT_WITH_SYSTEMD  0
#define SD_LISTEN_FDS_START 3

static inline int sd_notify(int unset, const char *state)
{
	return 0;
}

static inline G_GNUC_PRINTF(2, 3) int sd_notifyf(int unset, const char *format, ...)
{
	return 0;
}

static inline int sd_listen_fds(int unset)
{
	return 0;
}

static inline int sd_is_socket_unix(int fd, int type, int listening, const char *path,
				    size_t length)
{
	return 0;
}

#endif
