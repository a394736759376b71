/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * The service: manages filesystems until SIGTERM or SIGINT.  It reads its configuration again on SIGHUP, and
 * reports to systemd (sd_notify(3)); the main loop feeds the watchdog.
 *
 * Thread: main.
 */

/* @settings are those of the command line, @arguments; @config is consumed.  Returns the exit status. */
int service_run(const Settings *settings, Config *config, char *const *arguments);
