/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * LockDirectory - where the locks of this user lie: a place that no other user can create, fill or replace.
 *
 * Root's is /run/dedupd-lock.  It is not below /run/dedupd, since systemd may remove the runtime directory of the
 * service while another process holds a lock.  Nor is it below /run/lock, which any user can write on
 * some distributions.
 *
 * Another user has it in the first of these directories that belongs to that user and that nobody else can write:
 * $XDG_RUNTIME_DIR, /run/user/UID, the cache directory, and .cache in the home directory that the user database names.
 * Root uses these only where /run belongs to another user, as in a user namespace.
 *
 * Thread: any.
 */
typedef struct {
	const char *base; /* NULL: not known */
	const char *name; /* of the directory in @base */
	bool makes_base;  /* only the last component of @base may be made */
} LockPlace;

typedef enum {
	LOCK_DIRECTORY_OPENED,
	LOCK_DIRECTORY_NONE, /* no place is suitable */
	LOCK_DIRECTORY_FAILED,
} LockDirectoryOutcome;

/*
 * Open the directory, and create it if it does not exist.  *@ret_fd is for openat(2) only.  *@ret_path is to be
 * freed.  The error is set on LOCK_DIRECTORY_FAILED, and for root also where no place is suitable.
 */
LockDirectoryOutcome lock_directory_open(int *ret_fd, char **ret_path, GError **error);

/* The same among @places, up to the first one without a name. */
LockDirectoryOutcome lock_directory_open_among(const LockPlace *places, int *ret_fd,
					       char **ret_path, GError **error);
