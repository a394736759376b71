/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/config/settings.h"
#include "common/text/exit-status.h"

/*
 * The one-shot mode: a pass in the foreground over each filesystem that the paths lie on, one after
 * another, with progress and a report; no bus, no systemd.  Without paths over those that the
 * configuration names.
 *
 * SIGINT and SIGTERM end it within two seconds; a pass ends when its window closes, or its time is up.
 * Logs what went wrong.
 *
 * Thread: main.
 */

/* @settings are those of the command line, @arguments; each filesystem has its own out of @config. */
int once_run(const Settings *settings, const Config *config, char *const *arguments);
