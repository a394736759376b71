/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/filesystem-lock.h"

#include "common/system/lock-file.h"
#include "common/text/name-text.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* filesystem_lock_holder() holds the lock for some microseconds. */
#define TRIES    11
#define TRY_USEC (10 * G_USEC_PER_SEC / 1000)

/* A look takes milliseconds, unless the disk hangs.  Signals are not handled meanwhile. */
#define LOOK_TRIES 150

/*
 * Locks on bytes of the lock file.  A process that works on the filesystem holds BYTE_WORK, and processes that
 * look at it share BYTE_LOOK.  Each takes its own byte before it looks at the other one.
 */
enum {
	BYTE_WORK,
	BYTE_LOOK,
};

struct FilesystemLook {
	char *uuid;
	char *path;
	Fd fd;
};

G_DEFINE_QUARK(dedupd - filesystem - lock - error - quark, filesystem_lock_error)

/*
 * The program of the process: "dedupd", or "dedupctl" and its verb.  NULL: another program (the number may be
 * of another namespace), or not visible.
 */
static char *program_of(pid_t process)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/cmdline", process);
	g_autofree char *text = NULL;
	g_autofree char *name = NULL;
	size_t length;

	/* Each word ends with NUL, the last one, too. */
	if (!g_file_get_contents(path, &text, &length, NULL) || length == 0)
		return NULL;
	name = g_path_get_basename(text);
	if (strcmp(name, "dedupd") == 0)
		return g_steal_pointer(&name);
	if (strcmp(name, "dedupctl") != 0)
		return NULL;

	for (size_t at = strlen(text) + 1; at < length; at += strlen(text + at) + 1) {
		if (text[at] == '-')
			continue;
		g_autofree char *verb = name_text(text + at, strlen(text + at));
		return g_strdup_printf("dedupctl %s", verb);
	}
	return g_steal_pointer(&name);
}

static char *holder_text(const char *uuid)
{
	pid_t holder = lock_file_holder(uuid);
	g_autofree char *program = holder > 0 ? program_of(holder) : NULL;

	if (program)
		return g_strdup_printf("%s (process %d)", program, holder);
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

static bool set_byte(int fd, short type, off_t byte)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static bool fail_to_lock(const char *uuid, GError **error)
{
	int cause = errno;

	g_set_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_FAILED,
		    "cannot lock the filesystem %s: %s", uuid, g_strerror(cause));
	return false;
}

/* Prevent new looks, and wait for those that run. */
static bool keep_from_looking(const char *uuid, int fd, GError **error)
{
	if (!set_byte(fd, F_WRLCK, BYTE_WORK))
		return fail_to_lock(uuid, error);
	for (int i = 0; i < LOOK_TRIES; i++) {
		if (set_byte(fd, F_WRLCK, BYTE_LOOK))
			return set_byte(fd, F_UNLCK, BYTE_LOOK) || fail_to_lock(uuid, error);
		if (errno != EAGAIN && errno != EACCES)
			return fail_to_lock(uuid, error);
		g_usleep(TRY_USEC);
	}

	g_set_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE,
		    "another process asks the filesystem %s which files show an extent, and gets "
		    "no answer",
		    uuid);
	return false;
}

bool filesystem_lock(const char *uuid, int *ret_fd, GError **error)
{
	g_autofree char *path = NULL;
	g_autofree char *holder = NULL;
	g_autoptr(GError) failure = NULL;

	switch (take_patiently(uuid, ret_fd, &failure)) {
	case LOCK_FILE_TAKEN:
		if (keep_from_looking(uuid, *ret_fd, error))
			return true;
		fd_close(ret_fd);
		return false;
	case LOCK_FILE_NO_PLACE:
		g_debug("the filesystem %s is not locked: no directory is this user's alone", uuid);
		return true;
	case LOCK_FILE_HELD:
		path = lock_file_path(uuid);
		holder = holder_text(uuid);
		g_set_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE,
			    "%s holds the store of the filesystem %s (lock %s)", holder, uuid,
			    path ? path : "that is gone by now");
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

FilesystemLook *filesystem_look_new(const char *uuid)
{
	FilesystemLook *look = g_new0(FilesystemLook, 1);

	look->uuid = g_strdup(uuid);
	look->fd = -1;
	return look;
}

void filesystem_look_free(FilesystemLook *look)
{
	if (!look)
		return;

	fd_close(&look->fd);
	g_free(look->path);
	g_free(look->uuid);
	g_free(look);
}

/* Open the file that is now at the path. */
static bool open_lock(FilesystemLook *look, GError **error)
{
	if (look->fd >= 0 && lock_file_is_at(look->fd, look->path))
		return true;

	fd_close(&look->fd);
	g_clear_pointer(&look->path, g_free);
	switch (lock_file_open(look->uuid, &look->fd, &look->path, error)) {
	case LOCK_FILE_OPENED:
		return true;
	case LOCK_FILE_NO_PLACE:
		errno = EACCES;
		return fail_to_lock(look->uuid, error);
	default:
		return false;
	}
}

bool filesystem_look_begin(FilesystemLook *look, GError **error)
{
	struct flock work = { .l_type = F_RDLCK, .l_start = BYTE_WORK, .l_len = 1 };

	if (!open_lock(look, error))
		return false;

	bool is_held = !set_byte(look->fd, F_RDLCK, BYTE_LOOK);
	if (is_held && errno != EAGAIN && errno != EACCES)
		return fail_to_lock(look->uuid, error);
	if (!is_held && fcntl(look->fd, F_OFD_GETLK, &work) != 0) {
		fail_to_lock(look->uuid, error);
		filesystem_look_end(look);
		return false;
	}
	if (!is_held && work.l_type == F_UNLCK)
		return true;

	g_autofree char *holder = holder_text(look->uuid);
	filesystem_look_end(look);
	g_set_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE,
		    "%s holds the store of the filesystem %s (lock %s)", holder, look->uuid,
		    look->path);
	return false;
}

void filesystem_look_end(FilesystemLook *look)
{
	set_byte(look->fd, F_UNLCK, BYTE_LOOK);
}
