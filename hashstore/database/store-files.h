/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-error.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * StoreFiles - the files of one store in its directory: making, locking, moving aside.
 *
 * Thread: the filesystem's worker.
 */

/* Make the directory if it is absent, mode 0700. */
bool store_files_make_directory(const char *directory, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A file descriptor that holds the writer's lock of @uuid; -1 on error. */
int store_files_lock(const char *directory, const char *uuid, GError **error);

/*
 * Make an empty file of mode 0600 unless @path exists, which must be writable then.  What an older database
 * left beside it, which is of no use without that, is deleted.
 */
bool store_files_make(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Rename @path, and what waits beside it, to .old-N, N being the first number that is free.  *ret_aside,
 * unless @ret_aside is NULL, is that name, or NULL if there was no database; to be freed.  What fails half-way
 * is undone.
 */
bool store_files_move_aside(const char *path, char **ret_aside, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Put the database @made, which must be at rest, into the place of @path, which is moved aside as above.  All
 * stays as it was if that fails.
 */
bool store_files_replace(const char *made, const char *path, char **ret_aside, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Delete a store and what belongs to it; its lock is to be held.  One that does not exist is deleted. */
bool store_files_delete(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether @path alone says what is stored: nothing waits beside it to be put into it. */
bool store_files_at_rest(const char *path);

/* Size of @path, and of its -wal; 0 if there is none. */
uint64_t store_files_database_bytes(const char *path);
uint64_t store_files_wal_bytes(const char *path);
