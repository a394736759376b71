/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-snapshot.h"
#include "hashstore/database/store.h"

/*
 * Names - names of directories, from which the path of an object is built.
 *
 * Names are hints: a file opened by them is checked against the object's stamp.
 *
 * Thread: as HashStore.
 */
typedef struct DirectoryName {
	uint64_t subvolume;
	uint64_t inode;
	uint64_t parent_subvolume; /* differs from subvolume for a subvolume's top directory */
	uint64_t parent;           /* 0: the directory where the walk began; name is its path */
	const uint8_t *name;       /* valid until the next call on the same cursor or store */
	size_t name_bytes;
	/* The directory's stamp when its names were read; 0: read them again. */
	uint64_t stamp;
} DirectoryName;

bool hash_store_put_directory(HashStore *store, const DirectoryName *name, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool hash_store_drop_directory(HashStore *store, uint64_t subvolume, uint64_t inode, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Let the names of all directories be read again. */
bool hash_store_doubt_directories(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

bool hash_store_find_directory(HashStore *store, uint64_t subvolume, uint64_t inode,
			       const DirectoryName **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT; /* *ret is NULL when there is none */

/*
 * The absolute path of a directory by the stored names, as raw bytes.  It begins with "?" if the names do not
 * lead up to the start of a walk.
 */
char *hash_store_directory_path(HashStore *store, uint64_t subvolume, uint64_t inode);

/* All directories in order of (subvolume, inode), through a connection of its own. */
typedef struct DirectoryCursor DirectoryCursor;

DirectoryCursor *directory_cursor_open(HashStore *store, GError **error);

/* The same on @snapshot, which outlives the cursor. */
DirectoryCursor *directory_cursor_open_in(StoreSnapshot *snapshot, GError **error);
bool directory_cursor_next(DirectoryCursor *cursor, const DirectoryName **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void directory_cursor_close(DirectoryCursor *cursor);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DirectoryCursor, directory_cursor_close)
