/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/files/btrfs-paths.h"
#include "hashstore/objects/objects.h"

/*
 * StoredObject - compares a file's version in the store with the file as it is.
 *
 * Thread: main.
 */

/* Open the store of the filesystem @identity in @directory.  The error names the store. */
HashStore *known_store_open(const char *directory, const FsIdentity *identity, GError **error);

/* The absolute path by the names in the store, as raw bytes; NULL: the store has no complete path. */
char *stored_object_path(HashStore *store, const Object *object);

/* Whether the file is the stored one, and was not touched since.  Even its ctime is unchanged. */
bool stored_object_is(const Object *object, const NamedFile *file);

/*
 * Whether the file is the stored one, but was young when it was read, so a later write may have gone unnoticed.
 */
bool stored_object_is_fresh(const Object *object, const NamedFile *file);

typedef enum {
	KNOWN_FORGOTTEN, /* the store no longer has it */
	KNOWN_SAME,
	KNOWN_FRESH, /* see stored_object_is_fresh() */
	KNOWN_STALE, /* it changed since, is gone, or cannot be found */
} KnownVersion;

/* How to find a file on btrfs, where the store names no directories; needs CAP_SYS_ADMIN. */
typedef struct {
	int fd; /* any file of the filesystem */
	const FsIdentity *identity;
	BtrfsPaths *paths;
} KnownWays;

/*
 * Open the file of the object @id by @ways, or by the names in the store if @ways is NULL.  *ret is NULL if the
 * file does not exist.  With KNOWN_STALE, it may be another file.  *ret_path, unless @ret_path is NULL, is the
 * last known path, or NULL.
 */
bool stored_object_open(HashStore *store, uint32_t id, const KnownWays *ways, NamedFile **ret,
			char **ret_path, KnownVersion *ret_version, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
