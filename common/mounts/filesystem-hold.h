/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * FilesystemHold - while anybody holds a filesystem, no process of the same user begins a pass over it, and those that
 * run end within two seconds.
 *
 * A hold is a lock on a part of the file UUID.hold in the LockDirectory: many may hold a filesystem at a time.  It
 * ends with the process.  It does not wait for passes: filesystem_lock_holder() tells whether one still runs.
 * An ordinary user's hold does not keep off root's passes.
 *
 * Thread: any.
 */

/*
 * *@ret_fd is the hold until it is closed.  It is -1, without an error, for an ordinary user who has no directory for
 * locks.
 */
bool filesystem_hold(const char *uuid, int *ret_fd, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Who holds the filesystem, as "process 1234", to be freed; NULL: nobody does now.  Does not wait. */
char *filesystem_hold_holder(const char *uuid);

/*
 * Returns false with a FILESYSTEM_LOCK_ERROR_IN_USE if anybody holds the filesystem.  A pass asks when it has the
 * FilesystemLock: then whoever takes a hold later sees the lock.
 */
bool filesystem_hold_is_absent(const char *uuid, GError **error) G_GNUC_WARN_UNUSED_RESULT;
