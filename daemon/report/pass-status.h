/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/text/exit-status.h"
#include "daemon/context/pass-result.h"

/*
 * The exit status after a pass, as dedupd(8) promises.  The result does not know of a stop request, which
 * EXIT_STATUS_SIGNAL reports.
 *
 * Thread: main.
 */
ExitStatus pass_exit_status(const PassResult *result);
