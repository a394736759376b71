/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/files/btrfs-paths.h"
#include "hashstore/objects/objects.h"

/*
 * StoredObject - a version of a file as the store remembers it, held against the file as it is.
 *
 * Thread: main.
 */

/* The store of the filesystem @identity in @directory; the error names it. */
HashStore *known_store_open(const char *directory, const FsIdentity *identity, GError **error);

/* The absolute path by the names in the store, as raw bytes; NULL: they do not lead to it. */
char *stored_object_path(HashStore *store, const Object *object);

/* Whether the file is the one that is known, and has not been touched since: not even its ctime. */
bool stored_object_is(const Object *object, const NamedFile *file);

/* Whether the file is the one that is known, though it might have been written once more unseen: it was young then. */
bool stored_object_is_fresh(const Object *object, const NamedFile *file);

typedef enum {
	KNOWN_FORGOTTEN, /* the store has it no more */
	KNOWN_SAME,
	KNOWN_FRESH, /* see stored_object_is_fresh() */
	KNOWN_STALE, /* it changed since, is gone, or cannot be found */
} KnownVersion;

/* How a file of a btrfs is found, as the store names no directories there; needs CAP_SYS_ADMIN. */
typedef struct {
	int fd; /* of any file of the filesystem */
	const FsIdentity *identity;
	BtrfsPaths *paths;
} KnownWays;

/*
 * The file of the object @id, by @ways, or, if these are NULL, by the names in the store.  *ret is NULL where
 * that is not there; it may be another one where it is KNOWN_STALE.  *ret_path, unless that is NULL, is where it was, or NULL.
 */
bool stored_object_open(HashStore *store, uint32_t id, const KnownWays *ways, NamedFile **ret,
			char **ret_path, KnownVersion *ret_version, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
