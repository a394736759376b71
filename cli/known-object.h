/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/named-file.h"
#include "hashstore/objects.h"

/*
 * KnownObject - a version of a file as the store remembers it, held against the file as it is.
 *
 * Thread: main.
 */

/* The store of the filesystem @identity in @directory; the error names it. */
HashStore *known_store_open(const char *directory, const FsIdentity *identity, GError **error);

/* The absolute path by the names in the store, as raw bytes; NULL: they do not lead to it. */
char *known_object_path(HashStore *store, const Object *object);

/* Whether the file is the one that is known, and has not been touched since: not even its ctime. */
bool known_object_is(const Object *object, const NamedFile *file);

/* The file, by the names in the store; NULL if it is not there, or not as it was. */
NamedFile *known_object_open(HashStore *store, const Object *object, const char *path);
