/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-filesystem.h"

#include <systemd/sd-bus.h>

/*
 * Read all properties of a filesystem from the reply of GetAll().  Unknown properties are ignored.  Properties
 * that a service of another version does not send are empty.  Returns a negative errno.
 *
 * Thread: main.
 */
int daemon_properties_read(sd_bus_message *reply, DaemonFilesystem **ret);
