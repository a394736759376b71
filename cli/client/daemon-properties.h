/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-filesystem.h"

#include <systemd/sd-bus.h>

/*
 * Read all properties of a filesystem, as GetAll() replies: what is not known is passed over, and what a service of
 * another version does not tell is empty.  Returns a negative errno.
 *
 * Thread: main.
 */
int daemon_properties_read(sd_bus_message *reply, DaemonFilesystem **ret);
