/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * LockFile - a lock that at most one process of a user holds at a time, in the service or outside it.
 *
 * It is a flock on a file (mode 0600) in the LockDirectory, and ends with the process.
 *
 * Thread: any.
 */
typedef enum {
	LOCK_FILE_TAKEN,
	LOCK_FILE_OPENED,   /* only by lock_file_open() */
	LOCK_FILE_HELD,     /* a process holds it, maybe this one */
	LOCK_FILE_NO_PLACE, /* this user, who is not root, has no directory for locks */
	LOCK_FILE_FAILED,
} LockFileOutcome;

/* The path of the lock @name, to be freed; NULL: no directory. */
char *lock_file_path(const char *name);

/*
 * *@ret_fd holds the lock until it is closed; it is -1 unless the outcome is LOCK_FILE_TAKEN.  The error is
 * set on LOCK_FILE_FAILED.
 */
LockFileOutcome lock_file_take(const char *name, int *ret_fd, GError **error);

/* The last process that took the lock @name; 0: not known. */
pid_t lock_file_holder(const char *name);

/* Attempts, since the file may be replaced between opening and locking it. */
#define LOCK_FILE_TRIES 8

/*
 * Open the file of the lock @name, created if necessary, without locking it: for other kinds of
 * locks.  *@ret_path is to be freed.
 */
LockFileOutcome lock_file_open(const char *name, int *ret_fd, char **ret_path, GError **error);

/* The file is still the one at @path.  A lock on a deleted or replaced file excludes nobody. */
bool lock_file_is_at(int fd, const char *path);
