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
