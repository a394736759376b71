/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * LockDirectory - the directory of a user's locks, which no other user can create, fill or replace.
 *
 * For root it is /run/dedupd-lock.  It is not in /run/dedupd, since systemd may remove the service's runtime
 * directory while another process holds a lock.  It is not in /run/lock, which any user can write on some
 * distributions.
 *
 * For another user it is in the first directory of a list that this user owns and nobody else can
 * write.  The list is $XDG_RUNTIME_DIR, /run/user/UID, the cache directory, and .cache in the home
 * directory of the user database.  Root uses these only if /run belongs to another user, as in a
 * user namespace.
 *
 * Thread: any.
 */
typedef struct {
	const char *base; /* NULL: not known */
	const char *name; /* of the directory in @base */
	bool makes_base;  /* only the last component of @base may be created */
} LockPlace;

typedef enum {
	LOCK_DIRECTORY_OPENED,
	LOCK_DIRECTORY_NONE, /* no place is suitable */
	LOCK_DIRECTORY_FAILED,
} LockDirectoryOutcome;

/*
 * Open the directory; create it if it does not exist.  *@ret_fd is for openat(2) only.  *@ret_path is to be
 * freed.  The error is set on LOCK_DIRECTORY_FAILED, and for root on LOCK_DIRECTORY_NONE, too.
 */
LockDirectoryOutcome lock_directory_open(int *ret_fd, char **ret_path, GError **error);

/* The same among @places, an array that ends with a place without a name. */
LockDirectoryOutcome lock_directory_open_among(const LockPlace *places, int *ret_fd,
					       char **ret_path, GError **error);
