/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/store-files.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* What belongs to a database file, by its suffix. */
static const char *const companions[] = { "", "-wal", "-shm" };

static bool set_file_error(const char *tried, const char *path, int cause, GError **error)
{
	bool full = cause == ENOSPC || cause == EDQUOT || cause == EROFS || cause == EACCES ||
		    cause == EPERM;

	g_set_error(error, HASH_STORE_ERROR, full ? HASH_STORE_ERROR_FULL : HASH_STORE_ERROR_FAILED,
		    "cannot %s %s: %s", tried, path, g_strerror(cause));
	return false;
}

bool store_files_make_directory(const char *directory, GError **error)
{
	if (g_mkdir_with_parents(directory, 0700) < 0)
		return set_file_error("make the directory", directory, errno, error);

	return true;
}

int store_files_lock(const char *directory, const char *uuid, GError **error)
{
	g_autofree char *name = g_strconcat(uuid, ".lock", NULL);
	g_autofree char *path = g_build_filename(directory, name, NULL);
	int fd, cause;

	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
	if (fd < 0) {
		set_file_error("open the lock", path, errno, error);
		return -1;
	}

	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;

	cause = errno;
	if (cause == EWOULDBLOCK)
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_IN_USE,
			    "another process writes the store: it holds the lock %s", path);
	else
		set_file_error("lock", path, cause, error);
	close(fd);

	return -1;
}

/* Not by opening it: that file's being closed would end all locks that SQLite has on it. */
static bool check_writable(const char *path, GError **error)
{
	if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0)
		return true;

	return set_file_error("open the store", path, errno, error);
}

bool store_files_make(const char *path, GError **error)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 && errno == EEXIST)
		return check_writable(path, error);
	if (fd < 0)
		return set_file_error("make", path, errno, error);
	close(fd);

	return true;
}

static bool is_free_number(const char *path, unsigned number)
{
	for (size_t i = 0; i < G_N_ELEMENTS(companions); i++) {
		g_autofree char *old = g_strdup_printf("%s.old-%u%s", path, number, companions[i]);
		struct stat st;

		if (lstat(old, &st) == 0 || errno != ENOENT)
			return false;
	}

	return true;
}

bool store_files_move_aside(const char *path, char **ret_aside, GError **error)
{
	unsigned number = 1;
	struct stat st;

	if (ret_aside)
		*ret_aside = NULL;
	if (lstat(path, &st) < 0 && errno == ENOENT)
		return true;

	while (number < UINT16_MAX && !is_free_number(path, number))
		number++;

	/* The database goes last: cut short, the next attempt finds it and takes the next number. */
	for (size_t i = G_N_ELEMENTS(companions); i-- > 0;) {
		g_autofree char *from = g_strconcat(path, companions[i], NULL);
		g_autofree char *to = g_strdup_printf("%s.old-%u%s", path, number, companions[i]);

		if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0 &&
		    (errno != ENOENT || i == 0))
			return set_file_error("move aside", from, errno, error);
	}

	if (ret_aside)
		*ret_aside = g_strdup_printf("%s.old-%u", path, number);
	return true;
}

bool store_files_move(const char *from, const char *to, GError **error)
{
	if (!store_files_at_rest(from))
		return set_file_error("put into its place", from, EBUSY, error);
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0)
		return set_file_error("put into its place", from, errno, error);

	return true;
}

bool store_files_delete(const char *path, GError **error)
{
	/* The database goes first: a WAL alone is nobody's. */
	for (size_t i = 0; i < G_N_ELEMENTS(companions); i++) {
		g_autofree char *file = g_strconcat(path, companions[i], NULL);

		if (unlink(file) < 0 && errno != ENOENT)
			return set_file_error("delete", file, errno, error);
	}

	return true;
}

uint64_t store_files_database_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

bool store_files_at_rest(const char *path)
{
	g_autofree char *journal = g_strconcat(path, "-journal", NULL);

	return store_files_wal_bytes(path) == 0 && store_files_database_bytes(journal) == 0;
}

uint64_t store_files_wal_bytes(const char *path)
{
	g_autofree char *wal = g_strconcat(path, "-wal", NULL);

	return store_files_database_bytes(wal);
}
