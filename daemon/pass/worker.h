/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

#include <glib.h>

/*
 * Worker - the thread that works on one filesystem.
 *
 * Thread: main.
 */
typedef struct Worker Worker;

/*
 * Start a pass.  All arguments are borrowed until worker_join().  @finished gets a message, NULL, when the pass has
 * ended and @filesystem is closed.
 */
Worker *worker_start(const Settings *settings, Filesystem *filesystem, DiskTable *disks,
		     atomic_bool *stop, Progress *progress, PassResult *result, Receiver *finished,
		     GError **error);

/* Wait for the end of the pass and free the worker; @result is then the caller's. */
void worker_join(Worker *worker);
