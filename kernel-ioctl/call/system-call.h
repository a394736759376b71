/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <sys/ioctl.h>

/*
 * System calls of these rooms: repeat an ioctl that a signal interrupted, and report errno as a GError.  Only
 * the sources of kernel-ioctl include this header.
 *
 * Thread: any.
 */

static inline int system_call_ioctl(int fd, unsigned long request, void *argument)
{
	int result;

	do
		result = ioctl(fd, request, argument);
	while (result < 0 && errno == EINTR);

	return result;
}

/* Report errno as G_FILE_ERROR: "cannot @what: cause".  Returns false. */
static inline bool system_call_failed(GError **error, const char *what)
{
	int cause = errno;

	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(cause), "cannot %s: %s", what,
		    g_strerror(cause));
	return false;
}
