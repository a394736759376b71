/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-client.h"
#include "common/text/exit-status.h"

#include <signal.h>

/*
 * PassWaiter - starts passes, waits for them and shows their progress.  On a terminal it overwrites one line;
 * elsewhere it shows nothing.
 *
 * Thread: main.
 */
typedef struct PassWaiter PassWaiter;

PassWaiter *pass_waiter_new(DaemonClient *client);
void pass_waiter_free(PassWaiter *waiter);

/* Start a pass over @name, and wait for it with the others. */
bool pass_waiter_start(PassWaiter *waiter, const char *name, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Start a pass over @paths of @name alone: see daemon_client_run(). */
bool pass_waiter_start_run(PassWaiter *waiter, const char *name, char *const *paths,
			   char *const *wishes, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Stop passes when *@signal, which a handler sets, is no longer 0.  The waiter still waits for each pass and
 * reports what it did.  The result is then EXIT_STATUS_SIGNAL plus the signal's number.
 */
void pass_waiter_heed(PassWaiter *waiter, const volatile sig_atomic_t *signal);

/* Do not print results of passes on standard output. */
void pass_waiter_be_quiet(PassWaiter *waiter);

/*
 * Wait for all passes, and report the result of each when it has ended.  Returns EXIT_STATUS_DONE only if all
 * are complete.  Otherwise, passes over paths alone return the exit status of these passes.
 */
ExitStatus pass_waiter_run(PassWaiter *waiter);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PassWaiter, pass_waiter_free)
