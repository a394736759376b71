/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/text/exit-status.h"

/*
 * Run @words, a command and its arguments up to NULL, and wait until it ends.  Returns its exit status, or 128
 * plus the number of the signal that ended it.  If it cannot be run, returns EXIT_STATUS_NO_COMMAND or
 * EXIT_STATUS_CANNOT_RUN, and *@ret_cause is an errno.  Otherwise *@ret_cause is 0.
 *
 * Signals to this process are passed on meanwhile, except those that a terminal also sends to the command.  The
 * command inherits standard input, output and error, and no close-on-exec descriptor.
 *
 * Thread: main, while no other thread runs.
 */
ExitStatus command_run(char *const *words, int *ret_cause);
