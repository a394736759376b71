/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-filesystem.h"

#include <systemd/sd-bus.h>

/*
 * Read all properties of a filesystem, an "a{sv}", from a reply.  Unknown properties are ignored.  Properties
 * that a service of another version does not send are empty.  Returns a negative errno.
 *
 * Thread: main.
 */
int daemon_properties_read(sd_bus_message *reply, DaemonFilesystem **ret);

/*
 * Add all filesystems (DaemonFilesystem) of the reply of GetManagedObjects() to @all, in their order there.  Returns a
 * negative errno.
 */
int daemon_properties_read_all(sd_bus_message *reply, GPtrArray *all);
