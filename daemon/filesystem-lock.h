/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * FilesystemLock - at most one process works on a filesystem at a time, whatever store it uses.
 *
 * A flock on /run/lock/dedupd/UUID (mode 0600, so that nobody else can hold root's work up); an
 * ordinary user's lies in $XDG_RUNTIME_DIR/dedupd, since he resolves no references and need not
 * keep out of root's way.  Ends with the process, however that ends.
 *
 * Thread: any.
 */
#define FILESYSTEM_LOCK_ERROR (filesystem_lock_error_quark())
GQuark filesystem_lock_error_quark(void);

typedef enum {
	FILESYSTEM_LOCK_ERROR_IN_USE,
	FILESYSTEM_LOCK_ERROR_FAILED,
} FilesystemLockError;

/* Returns a descriptor that holds the lock until it is closed, or -1. */
int filesystem_lock(const char *uuid, GError **error);
