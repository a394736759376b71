/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * The resident service: looks after filesystems until it is told to end (SIGTERM, SIGINT), reads
 * its configuration anew on SIGHUP, and tells systemd that it is alive (sd_notify(3), with the
 * watchdog fed by the main loop).
 *
 * Thread: main.
 */

/*
 * @settings are those of the command line, @arguments; @config is consumed.  Returns the exit
 * status.
 */
int service_run(const Settings *settings, Config *config, char *const *arguments);
