/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * FilesystemLock - at most one process works on a filesystem at a time, whatever store it uses.
 *
 * It is a LockFile with the UUID as its name.  Only root resolves references, so an ordinary user's pass does
 * not exclude root's.
 *
 * Thread: any.
 */
#define FILESYSTEM_LOCK_ERROR (filesystem_lock_error_quark())
GQuark filesystem_lock_error_quark(void);

typedef enum {
	FILESYSTEM_LOCK_ERROR_IN_USE,
	FILESYSTEM_LOCK_ERROR_FAILED,
} FilesystemLockError;

/*
 * *@ret_fd holds the lock until it is closed.  It is -1, without an error, for an ordinary user who has no directory
 * for locks: then only the lock of the store excludes a second pass.  While another process holds the lock, the call
 * waits for a tenth of a second at most, since filesystem_lock_holder() holds it for a moment.
 */
bool filesystem_lock(const char *uuid, int *ret_fd, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Who works on the filesystem, as "process 1234", to be freed; NULL: nobody does now.  Does not wait. */
char *filesystem_lock_holder(const char *uuid);
