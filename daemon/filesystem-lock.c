/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/filesystem-lock.h"

#include "daemon/lock-file.h"
#include "kernel-ioctl/fd.h"

/* filesystem_lock_holder() holds the lock for some microseconds. */
#define TRIES    11
#define TRY_USEC (10 * G_USEC_PER_SEC / 1000)

G_DEFINE_QUARK(dedupd - filesystem - lock - error - quark, filesystem_lock_error)

static char *holder_text(const char *uuid)
{
	pid_t holder = lock_file_holder(uuid);

	return holder > 0 ? g_strdup_printf("process %d", holder) : g_strdup("another process");
}

static LockFileOutcome take_patiently(const char *uuid, int *ret_fd, GError **error)
{
	LockFileOutcome outcome = lock_file_take(uuid, ret_fd, error);

	for (int i = 1; i < TRIES && outcome == LOCK_FILE_HELD; i++) {
		g_usleep(TRY_USEC);
		outcome = lock_file_take(uuid, ret_fd, error);
	}

	return outcome;
}

bool filesystem_lock(const char *uuid, int *ret_fd, GError **error)
{
	g_autofree char *path = NULL;
	g_autofree char *holder = NULL;
	g_autoptr(GError) failure = NULL;

	switch (take_patiently(uuid, ret_fd, &failure)) {
	case LOCK_FILE_TAKEN:
		return true;
	case LOCK_FILE_NO_PLACE:
		g_debug("the filesystem %s is not locked: no directory is this user's alone", uuid);
		return true;
	case LOCK_FILE_HELD:
		path = lock_file_path(uuid);
		holder = holder_text(uuid);
		g_set_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE,
			    "another process works on the filesystem %s: %s (lock %s)", uuid,
			    holder, path ? path : "that is gone by now");
		return false;
	case LOCK_FILE_OPENED:
	case LOCK_FILE_FAILED:
		break;
	}

	g_set_error_literal(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_FAILED,
			    failure->message);
	return false;
}

char *filesystem_lock_holder(const char *uuid)
{
	g_auto(Fd) fd = -1;

	return lock_file_take(uuid, &fd, NULL) == LOCK_FILE_HELD ? holder_text(uuid) : NULL;
}
