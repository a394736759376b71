/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/text/exit-status.h"

/*
 * Run @words, a command and its arguments up to NULL, and wait until it ends.  Returns its exit status; 128 and the
 * number of the signal that ended it; or EXIT_STATUS_NO_COMMAND or EXIT_STATUS_CANNOT_RUN with *@ret_cause, an errno,
 * which is 0 otherwise.
 *
 * Signals that this process gets meanwhile are passed on, but those that a terminal sends to the command as well.
 * The command gets standard input, output and error, and no other descriptor that closes itself.
 *
 * Thread: main, and no other runs.
 */
ExitStatus command_run(char *const *words, int *ret_cause);
