/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/text/exit-status.h"
#include "daemon/context/pass-result.h"

/*
 * What a process exits with that made a pass for somebody, as dedupd(8) promises.  One that was asked to stop
 * is told by EXIT_STATUS_SIGNAL, which its result does not know.
 *
 * Thread: main.
 */
ExitStatus pass_exit_status(const PassResult *result);
