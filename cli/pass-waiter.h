/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/daemon-client.h"
#include "daemon/exit-status.h"

/*
 * PassWaiter - has passes begin, waits for them, and shows how far they are: on a terminal in a line that is written over, else not at all.
 *
 * Thread: main.
 */
typedef struct PassWaiter PassWaiter;

PassWaiter *pass_waiter_new(DaemonClient *client);
void pass_waiter_free(PassWaiter *waiter);

/* Have a pass over @name begin, which is waited for with the others. */
bool pass_waiter_start(PassWaiter *waiter, const char *name, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Wait for all.  Say what came of each pass when it has ended; not EXIT_STATUS_DONE unless all are complete. */
ExitStatus pass_waiter_run(PassWaiter *waiter);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PassWaiter, pass_waiter_free)
