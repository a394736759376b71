/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/config/settings.h"
#include "common/text/exit-status.h"

/*
 * The one-shot mode: a pass in the foreground over each filesystem of the paths, one after another, with progress
 * and a report, without bus and systemd.  Without paths, the configuration names the filesystems.
 *
 * SIGINT and SIGTERM end it within two seconds.  A pass ends when its window closes, or its time is up.  Logs
 * errors.
 *
 * Thread: main.
 */

/* @settings are those of the command line, @arguments.  Each filesystem gets its own from @config. */
int once_run(const Settings *settings, const Config *config, char *const *arguments);
