/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * LockFile - a file that one process of a user's holds at a time, be it in the service or not.
 *
 * A flock on a file below /run/lock/dedupd (mode 0600, so that nobody else can hold root's work up);
 * an ordinary user's lies in $XDG_RUNTIME_DIR/dedupd.  Ends with the process, however that ends.
 *
 * Thread: any.
 */

/* Where the lock called @name lies, to be freed. */
char *lock_file_path(const char *name);

/*
 * Returns a descriptor that holds the lock until it is closed, or -1: *@ret_is_held if somebody has
 * it, be it this process, else with an error.
 */
int lock_file_take(const char *name, bool *ret_is_held, GError **error);

/* The process that has the lock called @name, or had it last; 0: it is not known. */
pid_t lock_file_holder(const char *name);
