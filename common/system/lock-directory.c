/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/system/lock-directory.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>

#define DIRECTORY_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* The most bytes that the user database needs for one user. */
#define PASSWORD_ENTRY_BYTES 16384

/* Only the owner can change the contents of such a directory. */
static bool is_private(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 0022);
}

/*
 * These errors make a place unsuitable for good.  Others may pass: a second place would then split the locks.
 */
static bool is_unsuitable(int cause)
{
	return cause == EACCES || cause == EPERM || cause == EROFS || cause == ENOENT ||
	       cause == ENOTDIR || cause == ELOOP;
}

static LockDirectoryOutcome refuse(const char *path, GError **error)
{
	int cause = errno;

	if (is_unsuitable(cause))
		return LOCK_DIRECTORY_NONE;

	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(cause),
		    "cannot open the directory of locks %s: %s", path, g_strerror(cause));
	return LOCK_DIRECTORY_FAILED;
}

static LockDirectoryOutcome open_place(const LockPlace *place, int *ret_fd, char **ret_path,
				       GError **error)
{
	g_autofree char *path = g_build_filename(place->base, place->name, NULL);
	g_auto(Fd) base = -1;
	g_auto(Fd) fd = -1;

	if (place->makes_base && mkdir(place->base, 0700) != 0 && errno != EEXIST)
		return refuse(path, error);
	base = open(place->base, DIRECTORY_FLAGS);
	if (base < 0)
		return refuse(path, error);
	if (!is_private(base))
		return LOCK_DIRECTORY_NONE;

	if (mkdirat(base, place->name, 0700) != 0 && errno != EEXIST)
		return refuse(path, error);
	fd = openat(base, place->name, DIRECTORY_FLAGS | O_NOFOLLOW);
	if (fd < 0)
		return refuse(path, error);
	if (!is_private(fd) || faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
		return LOCK_DIRECTORY_NONE;

	*ret_fd = fd_steal(&fd);
	*ret_path = g_steal_pointer(&path);
	return LOCK_DIRECTORY_OPENED;
}

LockDirectoryOutcome lock_directory_open_among(const LockPlace *places, int *ret_fd,
					       char **ret_path, GError **error)
{
	*ret_fd = -1;
	*ret_path = NULL;
	for (const LockPlace *place = places; place->name; place++) {
		LockDirectoryOutcome outcome = LOCK_DIRECTORY_NONE;

		/* XDG: ignore a relative path. */
		if (place->base && g_path_is_absolute(place->base))
			outcome = open_place(place, ret_fd, ret_path, error);
		if (outcome != LOCK_DIRECTORY_NONE)
			return outcome;
	}

	return LOCK_DIRECTORY_NONE;
}

/* The XDG base directory specification.  GLib would print a warning if HOME is unset. */
static char *cache_by_environment(void)
{
	const char *cache = g_getenv("XDG_CACHE_HOME");
	const char *home = g_getenv("HOME");

	if (cache && g_path_is_absolute(cache))
		return g_strdup(cache);
	return home ? g_build_filename(home, ".cache", NULL) : NULL;
}

/* For an unset HOME, or another user's.  NULL: the user database does not know it. */
static char *cache_in_true_home(void)
{
	g_autofree char *buffer = g_malloc(PASSWORD_ENTRY_BYTES);
	struct passwd entry;
	struct passwd *found = NULL;

	if (getpwuid_r(geteuid(), &entry, buffer, PASSWORD_ENTRY_BYTES, &found) != 0 || !found)
		return NULL;
	return g_build_filename(found->pw_dir, ".cache", NULL);
}

static LockDirectoryOutcome open_of_root(int *ret_fd, char **ret_path, GError **error)
{
	static const LockPlace places[] = {
		{ "/run", "dedupd-lock", false },
		{ NULL, NULL, false },
	};

	return lock_directory_open_among(places, ret_fd, ret_path, error);
}

static LockDirectoryOutcome open_of_user(int *ret_fd, char **ret_path, GError **error)
{
	g_autofree char *run = g_strdup_printf("/run/user/%u", geteuid());
	g_autofree char *cache = cache_by_environment();
	g_autofree char *home = cache_in_true_home();
	const LockPlace places[] = {
		{ g_getenv("XDG_RUNTIME_DIR"), "dedupd", false },
		{ run, "dedupd", false },
		{ cache, "dedupd", true },
		{ home, "dedupd", true },
		{ NULL, NULL, false },
	};

	return lock_directory_open_among(places, ret_fd, ret_path, error);
}

LockDirectoryOutcome lock_directory_open(int *ret_fd, char **ret_path, GError **error)
{
	bool is_root = geteuid() == 0;
	LockDirectoryOutcome outcome = LOCK_DIRECTORY_NONE;

	if (is_root)
		outcome = open_of_root(ret_fd, ret_path, error);
	if (outcome == LOCK_DIRECTORY_NONE)
		outcome = open_of_user(ret_fd, ret_path, error);
	if (outcome == LOCK_DIRECTORY_NONE && is_root)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM,
			    "there is no place for locks: /run is not writable by root alone");
	return outcome;
}
