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
 * waits for a tenth of a second at most, since filesystem_lock_holder() holds it for a moment.  It also waits until
 * nobody looks at the filesystem (FilesystemLook): for milliseconds, unless the disk hangs; after 1.5 s that is
 * FILESYSTEM_LOCK_ERROR_IN_USE.
 */
bool filesystem_lock(const char *uuid, int *ret_fd, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Who works on the filesystem, as "dedupd (process 1234)", to be freed; NULL: nobody does now.  Does not wait. */
char *filesystem_lock_holder(const char *uuid);

/*
 * FilesystemLook - asks the filesystem what must not be asked while a pass shares: see BtrfsRefs.
 *
 * A look is short, and does not keep a pass from beginning: the pass waits until the look ends, and the next look
 * is refused.  Any number of processes may look at a time.
 *
 * Thread: any, one at a time.
 */
typedef struct FilesystemLook FilesystemLook;

FilesystemLook *filesystem_look_new(const char *uuid);
void filesystem_look_free(FilesystemLook *look);

/* The error is FILESYSTEM_LOCK_ERROR_IN_USE while a pass works on the filesystem. */
bool filesystem_look_begin(FilesystemLook *look, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* After each look that began: before anything else that may take long. */
void filesystem_look_end(FilesystemLook *look);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FilesystemLook, filesystem_look_free)
