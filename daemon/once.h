/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/exit-status.h"
#include "daemon/settings.h"

/*
 * The one-shot mode: a pass in the foreground over each filesystem that the paths lie on, one after
 * another, with progress and a report; no bus, no systemd.
 *
 * SIGINT and SIGTERM end it within two seconds.  Logs what went wrong.
 *
 * Thread: main.
 */
int once_run(const Settings *settings);
