/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/export/export-format.h"
#include "hashstore/objects/names.h"
#include "hashstore/objects/objects.h"

/*
 * ObjectLine - objects and directories of a store as lines of `dedupctl export`; see docs/export.md.
 *
 * Zero numbers are left out.  Numbers that a double cannot hold (times, digests) are text.
 *
 * Thread: any.
 */

/* Whether the object is exported.  Half-read objects, and objects skipped for a forgotten reason, are not. */
bool object_line_takes(const Object *object);

/*
 * @has_extents: a btrfs filesystem, where objects may be extents.  @path is where the file was last seen, for
 * people and other tools: NULL, or escaped.  A very long path is left out.
 */
json_t *object_line_write(const Object *object, bool has_extents, const char *path);

/* Whether lines of @type describe objects. */
bool object_line_is_type(const char *type);

/*
 * Read the object in @line, whose type is one of objects.  Its name is written to @name, and is valid until the
 * next call with @name.
 */
bool object_line_read(const json_t *line, bool has_extents, GByteArray *name, Object *ret,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

json_t *directory_line_write(const DirectoryName *directory);
bool directory_line_read(const json_t *line, GByteArray *name, DirectoryName *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
