/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Connect to the service's socket at @path.  Returns a descriptor or a negative errno.
 *
 * It waits up to 5 seconds while others fill the socket's connection queue. sd-bus would not wait, and
 * connect() fails at once in that case (EAGAIN).
 *
 * Thread: any.
 */
int service_socket_connect(const char *path);
