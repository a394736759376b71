/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/filesystem-hold.h"

#include "common/mounts/filesystem-lock.h"
#include "common/system/lock-file.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static char *lock_name(const char *uuid)
{
	return g_strconcat(uuid, ".hold", NULL);
}

/*
 * A read lock on the byte whose offset is the process's id.  So holds do not exclude each other, and a look at
 * the locks tells who holds.  The lock belongs to the open file description, so another descriptor may be
 * closed.
 */
static bool lock_own_byte(int fd)
{
	struct flock own = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = getpid(), .l_len = 1
	};

	return fcntl(fd, F_OFD_SETLK, &own) == 0;
}

/* *@ret_is_replaced: the caller must try again. */
static bool hold_once(const char *name, int *ret_fd, bool *ret_is_replaced, GError **error)
{
	g_autofree char *path = NULL;
	g_auto(Fd) fd = -1;
	LockFileOutcome outcome = lock_file_open(name, &fd, &path, error);

	*ret_is_replaced = false;
	errno = 0;
	if (outcome != LOCK_FILE_OPENED)
		return outcome == LOCK_FILE_NO_PLACE;
	if (lock_own_byte(fd) && lock_file_is_at(fd, path)) {
		*ret_fd = fd_steal(&fd);
		return true;
	}

	*ret_is_replaced = true;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot lock %s: %s", path,
		    errno ? g_strerror(errno) : "it was replaced meanwhile");
	return false;
}

bool filesystem_hold(const char *uuid, int *ret_fd, GError **error)
{
	g_autofree char *name = lock_name(uuid);
	g_autoptr(GError) failure = NULL;
	bool is_replaced = true;
	bool is_held = false;

	*ret_fd = -1;
	for (int i = 0; i < LOCK_FILE_TRIES && is_replaced; i++) {
		g_clear_error(&failure);
		is_held = hold_once(name, ret_fd, &is_replaced, &failure);
	}

	if (failure)
		g_propagate_error(error, g_steal_pointer(&failure));
	return is_held;
}

char *filesystem_hold_holder(const char *uuid)
{
	struct flock any = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	g_autofree char *name = lock_name(uuid);
	g_autofree char *path = lock_file_path(name);
	g_auto(Fd) fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY) : -1;

	/* If the locks cannot be read, report a holder: the pass must not begin. */
	if (path && fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return g_strdup_printf("a process that cannot be found out (%s)",
				       g_strerror(errno));
	if (fd < 0 || fcntl(fd, F_OFD_GETLK, &any) != 0 || any.l_type == F_UNLCK)
		return NULL;

	return g_strdup_printf("process %lld", (long long)any.l_start);
}

bool filesystem_hold_is_absent(const char *uuid, GError **error)
{
	g_autofree char *holder = filesystem_hold_holder(uuid);

	if (!holder)
		return true;

	g_set_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE,
		    "%s has put the filesystem %s on hold ('dedupctl hold'): passes wait for that",
		    holder, uuid);
	return false;
}
