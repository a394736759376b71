/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * FilesystemLock - at most one process works on a filesystem at a time, whatever store it uses.
 *
 * A LockFile by the name of the UUID.  An ordinary user resolves no references and need not keep out
 * of root's way.
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
 * Returns a descriptor that holds the lock until it is closed, or -1.  Who has it is waited for, but no longer
 * than a tenth of a second, since filesystem_lock_holder() has it for a moment.
 */
int filesystem_lock(const char *uuid, GError **error);

/* Who works on the filesystem, as "process 1234", to be freed; NULL: nobody does now.  Does not wait. */
char *filesystem_lock_holder(const char *uuid);
