/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-error.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * StoreFiles - the files of one store in its directory: name, make, lock, move aside, delete.
 *
 * Thread: the filesystem's worker; any for names.
 */

/* The path of the store of @uuid, to be freed. */
char *store_files_path(const char *directory, const char *uuid);

/* The UUIDs of all stores in @directory (texts), sorted, as their names say.  No directory: none. */
GPtrArray *store_files_list(const char *directory, GError **error);

/* Make the directory with mode 0700 if it is absent. */
bool store_files_make_directory(const char *directory, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A file descriptor that holds the writer's lock of @uuid; -1 on error. */
int store_files_lock(const char *directory, const char *uuid, GError **error);

/*
 * Make an empty file of mode 0600, unless @path exists, which must then be writable.  Companions of an older
 * database are deleted.
 */
bool store_files_make(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Rename @path and its companions to .old-N, where N is the first free number.  @ret_aside may be
 * NULL.  *ret_aside is the new name, to be freed, or NULL if there was no database.  A failure is
 * undone.
 */
bool store_files_move_aside(const char *path, char **ret_aside, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Move the database @made, which must be at rest, to @path, whose old files are moved aside.  A failure is
 * undone.
 */
bool store_files_replace(const char *made, const char *path, char **ret_aside, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Delete a store and its companions, if they exist; the caller holds its lock. */
bool store_files_delete(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* All data is in @path: no companion has more. */
bool store_files_at_rest(const char *path);

/* The size of @path or of its -wal; 0 if there is none. */
uint64_t store_files_database_bytes(const char *path);
uint64_t store_files_wal_bytes(const char *path);
