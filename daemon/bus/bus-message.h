/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <systemd/sd-bus.h>

/*
 * BusMessage - whether a call from the system bus is short enough to be processed.
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
