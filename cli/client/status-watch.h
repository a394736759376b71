/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/terminal/options.h"
#include "common/text/exit-status.h"

/*
 * Show what the service does until the user ends it: on a terminal as one page, elsewhere as lines that are
 * printed again whenever they change.
 *
 * The service reports changes.  While a pass runs, its progress is read once per interval.
 *
 * Thread: main.
 */
ExitStatus status_watch_run(const Options *options);
