/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * FilesystemHold - a lock that keeps processes of the same user from passes over a filesystem.  Running passes
 * end within two seconds.
 *
 * A hold is a lock on a part of the file UUID.hold in the LockDirectory: several may exist at a time.  It ends
 * with the process.  It does not wait for passes: filesystem_lock_holder() tells whether one still runs.  An
 * ordinary user's hold does not stop root's passes.
 *
 * Thread: any.
 */

/*
 * *@ret_fd is the hold until it is closed.  For an ordinary user without a directory for locks it is -1,
 * without an error.
 */
bool filesystem_hold(const char *uuid, int *ret_fd, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The process that holds the filesystem now, as "process 1234", to be freed; NULL: none.  Does not wait. */
char *filesystem_hold_holder(const char *uuid);

/*
 * False, with FILESYSTEM_LOCK_ERROR_IN_USE, if anybody holds the filesystem.  A pass asks after it took the
 * FilesystemLock: later holders then see the lock.
 */
bool filesystem_hold_is_absent(const char *uuid, GError **error) G_GNUC_WARN_UNUSED_RESULT;
