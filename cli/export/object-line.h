/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/export/export-format.h"
#include "hashstore/objects/names.h"
#include "hashstore/objects/objects.h"

/*
 * ObjectLine - objects and directories of a store as the lines of `dedupctl export` say them; see
 * docs/export.md.
 *
 * Numbers that are 0 are left out.  What a double cannot hold (times, digests) is text.
 *
 * Thread: any.
 */

/* Whether the object is one that is exported: not what is read half, or left alone for a forgotten reason. */
bool object_line_takes(const Object *object);

/*
 * @has_extents: of a btrfs, where objects may be extents.  @path, where the file was when it was last seen,
 * is for people and other tools: NULL, or escaped.  One that is very long is left out.
 */
json_t *object_line_write(const Object *object, bool has_extents, const char *path);

/* Whether lines of @type are of objects. */
bool object_line_is_type(const char *type);

/*
 * The object that @line says, whose type is of objects.  Its name is valid until the next call with
 * @name, to which it is written.
 */
bool object_line_read(const json_t *line, bool has_extents, GByteArray *name, Object *ret,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

json_t *directory_line_write(const DirectoryName *directory);
bool directory_line_read(const json_t *line, GByteArray *name, DirectoryName *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
