/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/service-socket.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#define CONNECT_SECONDS 5

int service_socket_connect(const char *path)
{
	const struct timeval patience = { .tv_sec = CONNECT_SECONDS };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	g_auto(Fd) fd = -1;

	if (g_strlcpy(address.sun_path, path, sizeof(address.sun_path)) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return -errno;

	return fd_steal(&fd);
}
