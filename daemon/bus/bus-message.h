/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

/*
 * BusMessage - whether a call from the system bus is short enough to be processed, and answers are taken.
 *
 * Bus daemons let anybody send messages of 32 MiB (dbus-daemon) or 128 MiB (dbus-broker).  A long one is refused
 * before it is kept, copied, or repeated in an error.
 *
 * Thread: main.
 */

/* The longest call is Run, which may have 1024 paths. */
#define BUS_MESSAGE_BYTES_MAX (256 << 10)

/* sd-bus looks up each prefix of a path, so the time it takes grows with the square of the length. */
#define BUS_PATH_BYTES_MAX 256

/* Returns 0, or a negative errno with *@error set.  Afterwards the message has to be read from its beginning. */
int bus_message_check(sd_bus_message *message, sd_bus_error *error);

/* The other side of a connection may leave so many messages unread. */
#define BUS_BACKLOG_MAX 256

/* Whether more than @n_most messages wait for the other side, which does not read them. */
bool bus_message_is_behind(sd_bus *connection, uint64_t n_most);
