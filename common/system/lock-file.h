/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * LockFile - a file that at most one process of a user holds at a time, in the service or outside it.
 *
 * It is a flock on a file (mode 0600) in the LockDirectory, and ends with the process.
 *
 * Thread: any.
 */
typedef enum {
	LOCK_FILE_TAKEN,
	LOCK_FILE_OPENED,   /* by lock_file_open() alone */
	LOCK_FILE_HELD,     /* a process has it, maybe this one */
	LOCK_FILE_NO_PLACE, /* this user, who is not root, has no directory for locks */
	LOCK_FILE_FAILED,
} LockFileOutcome;

/* Where the lock called @name lies, to be freed; NULL: nowhere. */
char *lock_file_path(const char *name);

/*
 * *@ret_fd holds the lock until it is closed; it is -1 unless the outcome is LOCK_FILE_TAKEN.  The error is set
 * on LOCK_FILE_FAILED.
 */
LockFileOutcome lock_file_take(const char *name, int *ret_fd, GError **error);

/* The process that holds the lock called @name, or held it last; 0: it is not known. */
pid_t lock_file_holder(const char *name);

/* So often the file may be replaced between opening and locking it. */
#define LOCK_FILE_TRIES 8

/*
 * Open the file of the lock called @name, which is made if it does not exist, and take no lock.  *@ret_path is to be
 * freed.  For another kind of lock than lock_file_take() has.
 */
LockFileOutcome lock_file_open(const char *name, int *ret_fd, char **ret_path, GError **error);

/* Whether the file is still the one at @path.  A lock on a file that was deleted or replaced excludes nobody. */
bool lock_file_is_at(int fd, const char *path);
