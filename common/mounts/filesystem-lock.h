/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * FilesystemLock - lets at most one process work on a filesystem at a time, with any store.
 *
 * It is a LockFile named by the UUID.  Only root looks up references, so an ordinary user's pass does not
 * exclude root's.
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
 * *@ret_fd holds the lock until it is closed.  For an ordinary user without a directory for locks it is -1,
 * without an error: then only the store's lock excludes a second pass.
 *
 * If another process has the lock, the call waits for at most a tenth of a second, since
 * filesystem_lock_holder() takes it for a moment.  It also waits for processes that look at the filesystem
 * (FilesystemLook): milliseconds, unless the disk hangs.  After 1.5 s that is FILESYSTEM_LOCK_ERROR_IN_USE.
 */
bool filesystem_lock(const char *uuid, int *ret_fd, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The process that works on the filesystem now, as "dedupd (process 1234)", to be freed; NULL: none.  Does not
 * wait.
 */
char *filesystem_lock_holder(const char *uuid);

/*
 * FilesystemLook - permission for queries that must not run beside deduplication: see BtrfsRefs.
 *
 * A look is short and does not stop a pass: the pass waits until the look ends, and the next look is
 * refused.  Any number of processes may look at a time.
 *
 * Thread: any, one at a time.
 */
typedef struct FilesystemLook FilesystemLook;

FilesystemLook *filesystem_look_new(const char *uuid);
void filesystem_look_free(FilesystemLook *look);

/* FILESYSTEM_LOCK_ERROR_IN_USE: a pass works on the filesystem. */
bool filesystem_look_begin(FilesystemLook *look, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Call it after each look, before other work that may take long. */
void filesystem_look_end(FilesystemLook *look);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FilesystemLook, filesystem_look_free)
