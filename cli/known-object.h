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

/*
 * The file of the object @id, by the names in the store; *ret is NULL if it is not there, or not as it was,
 * or the store has it no more.  *ret_path, unless that is NULL, is where it was, or NULL; *ret_is_known,
 * unless NULL, whether the store has it.
 */
bool known_object_open(HashStore *store, uint32_t id, NamedFile **ret, char **ret_path,
		       bool *ret_is_known, GError **error) G_GNUC_WARN_UNUSED_RESULT;
