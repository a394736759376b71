/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/terminal/options.h"
#include "common/text/exit-status.h"

/*
 * Show what the service does until somebody ends it: on a terminal as one page, elsewhere as lines that are
 * printed anew whenever they changed.
 *
 * What changes is told by the service; while a pass runs how far it is is asked for in each interval.
 *
 * Thread: main.
 */
ExitStatus status_watch_run(const Options *options);
