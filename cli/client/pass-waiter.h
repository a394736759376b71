/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-client.h"
#include "common/text/exit-status.h"

#include <signal.h>

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

/* The same over @paths of it alone: see daemon_client_run(). */
bool pass_waiter_start_run(PassWaiter *waiter, const char *name, char *const *paths,
			   char *const *wishes, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Have passes end when *@signal, which a handler sets, is not 0 any more; what each did is waited for and
 * said even so, and EXIT_STATUS_SIGNAL plus its number is what comes of it.
 */
void pass_waiter_heed(PassWaiter *waiter, const volatile sig_atomic_t *signal);

/* Say nothing of what came of passes on standard output. */
void pass_waiter_be_quiet(PassWaiter *waiter);

/*
 * Wait for all.  Say what came of each pass when it has ended; not EXIT_STATUS_DONE unless all are
 * complete: then, of passes over paths alone, what they are to be exited with.
 */
ExitStatus pass_waiter_run(PassWaiter *waiter);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PassWaiter, pass_waiter_free)
