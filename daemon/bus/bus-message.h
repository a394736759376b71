/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <systemd/sd-bus.h>

/*
 * BusMessage - whether a call that came over the system bus is short enough to be looked at.
 *
 * Bus daemons let anybody send messages of 32 MiB (dbus-daemon) or 128 MiB (dbus-broker).  A long one is refused
 * before anything keeps it, copies from it, or repeats it in an error.
 *
 * Thread: main.
 */

/* The longest call is Run, which may have 1024 paths. */
#define BUS_MESSAGE_BYTES_MAX (256 << 10)

/* sd-bus looks up each prefix of a path, so the time it takes grows with the square of the length. */
#define BUS_PATH_BYTES_MAX 256

/* Returns 0, or a negative errno with *@error set.  The message is to be read from its beginning afterwards. */
int bus_message_check(sd_bus_message *message, sd_bus_error *error);
