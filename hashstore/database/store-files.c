/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/store-files.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Suffixes of the files of a database. */
static const char *const companions[] = { "", "-journal", "-wal", "-shm" };

#define STORE_SUFFIX ".sqlite"

char *store_files_path(const char *directory, const char *uuid)
{
	g_autofree char *name = g_strconcat(uuid, STORE_SUFFIX, NULL);

	return g_build_filename(directory, name, NULL);
}

static int compare_texts(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

GPtrArray *store_files_list(const char *directory, GError **error)
{
	g_autoptr(GPtrArray) uuids = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) cause = NULL;
	g_autoptr(GDir) files = g_dir_open(directory, 0, &cause);
	const char *name;

	if (g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NOENT))
		return g_steal_pointer(&uuids);
	if (!files) {
		g_propagate_error(error, g_steal_pointer(&cause));
		return NULL;
	}

	while ((name = g_dir_read_name(files)))
		if (g_str_has_suffix(name, STORE_SUFFIX))
			g_ptr_array_add(uuids,
					g_strndup(name, strlen(name) - strlen(STORE_SUFFIX)));
	g_ptr_array_sort(uuids, compare_texts);

	return g_steal_pointer(&uuids);
}

static bool set_file_error(const char *tried, const char *path, int cause, GError **error)
{
	bool full = cause == ENOSPC || cause == EDQUOT || cause == EROFS || cause == EACCES ||
		    cause == EPERM;

	g_set_error(error, HASH_STORE_ERROR, full ? HASH_STORE_ERROR_FULL : HASH_STORE_ERROR_FAILED,
		    "cannot %s %s: %s", tried, path, g_strerror(cause));
	return false;
}

/* Only this user may write it.  A user's private group has the number of the user. */
static bool is_private(const struct stat *st)
{
	bool is_own_group = st->st_gid == (gid_t)geteuid();

	return st->st_uid == geteuid() && !(st->st_mode & S_IWOTH) &&
	       (is_own_group || !(st->st_mode & S_IWGRP));
}

/* In any other directory another user could replace the store by a link. */
static bool check_private(const char *directory, GError **error)
{
	struct stat st;

	if (stat(directory, &st) < 0)
		return set_file_error("look at the directory", directory, errno, error);
	if (S_ISDIR(st.st_mode) && is_private(&st))
		return true;

	g_set_error(
		error, HASH_STORE_ERROR, HASH_STORE_ERROR_FULL,
		"the state directory %s is not safe: it must belong to user %u, and nobody else "
		"may write it",
		directory, geteuid());
	return false;
}

bool store_files_make_directory(const char *directory, GError **error)
{
	if (g_mkdir_with_parents(directory, 0700) < 0)
		return set_file_error("make the directory", directory, errno, error);

	return check_private(directory, error);
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

/* Do not open the file: closing it would drop all locks that SQLite holds on it. */
static bool check_writable(const char *path, GError **error)
{
	if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0)
		return true;

	return set_file_error("open the store", path, errno, error);
}

bool store_files_delete(const char *path, GError **error)
{
	/* Delete the database first: nobody uses a WAL alone. */
	for (size_t i = 0; i < G_N_ELEMENTS(companions); i++) {
		g_autofree char *file = g_strconcat(path, companions[i], NULL);

		if (unlink(file) < 0 && errno != ENOENT)
			return set_file_error("delete", file, errno, error);
	}

	return true;
}

/* True also if it is not known. */
static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 || errno != ENOENT;
}

static bool is_free_number(const char *path, unsigned number)
{
	for (size_t i = 0; i < G_N_ELEMENTS(companions); i++) {
		g_autofree char *old = g_strdup_printf("%s.old-%u%s", path, number, companions[i]);

		if (is_there(old))
			return false;
	}

	return true;
}

/* Not over what has the name @to.  musl has no renameat2(). */
static int rename_to_new(const char *from, const char *to)
{
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

static bool rename_file(const char *from, const char *to, const char *suffix)
{
	g_autofree char *old = g_strconcat(from, suffix, NULL);
	g_autofree char *new = g_strconcat(to, suffix, NULL);

	return rename_to_new(old, new) == 0 || errno == ENOENT;
}

/*
 * Rename all files of a store.  In the place where it is used, the database goes first and comes last
 * (@comes): it never lies there without its companions.  A failure is undone.
 */
static bool rename_all(const char *from, const char *to, bool comes, GError **error)
{
	const size_t n = G_N_ELEMENTS(companions);

	for (size_t i = 0; i < n; i++) {
		size_t which = comes ? n - 1 - i : i;

		if (rename_file(from, to, companions[which]))
			continue;

		int cause = errno;
		while (i-- > 0)
			(void)rename_file(to, from, companions[comes ? n - 1 - i : i]);
		return set_file_error("move aside", from, cause, error);
	}

	return true;
}

bool store_files_move_aside(const char *path, char **ret_aside, GError **error)
{
	g_autofree char *aside = NULL;
	unsigned number = 1;

	if (ret_aside)
		*ret_aside = NULL;
	if (!is_there(path))
		return store_files_delete(path, error);

	while (number < UINT16_MAX && !is_free_number(path, number))
		number++;
	aside = g_strdup_printf("%s.old-%u", path, number);
	if (!rename_all(path, aside, false, error))
		return false;

	if (ret_aside)
		*ret_aside = g_steal_pointer(&aside);
	return true;
}

bool store_files_replace(const char *made, const char *path, char **ret_aside, GError **error)
{
	*ret_aside = NULL;
	if (!store_files_at_rest(made))
		return set_file_error("put into its place", made, EBUSY, error);
	if (!store_files_move_aside(path, ret_aside, error))
		return false;
	if (rename_to_new(made, path) == 0)
		return true;

	set_file_error("put into its place", made, errno, error);
	if (*ret_aside && !rename_all(*ret_aside, path, true, NULL))
		g_prefix_error(error, "the store that was there is %s: ", *ret_aside);
	g_clear_pointer(ret_aside, g_free);
	return false;
}

bool store_files_make(const char *path, GError **error)
{
	int fd;

	if (is_there(path))
		return check_writable(path, error);
	/* SQLite would take the companions of an older database for this one's. */
	if (!store_files_delete(path, error))
		return false;

	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return set_file_error("make", path, errno, error);
	close(fd);

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
