/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/files/stored-object.h"
#include "cli/terminal/progress-line.h"
#include "hashstore/objects/objects.h"

/*
 * ShownFiles - finds the files that reference data extents of a btrfs filesystem, in any subvolume, and which
 * of these files are equal as a whole.
 *
 * Two files are equal if all of their extents are equal, in the same order, by the checksums in the store.
 * Equal files with a different layout of extents are not detected.
 *
 * The references to each extent are looked up in a FilesystemLook of its own.  So a pass may begin at any time,
 * and the next extent is then refused.  Each file is opened once, and its extents are examined once.
 *
 * Needs CAP_SYS_ADMIN.  Thread: main.
 */
typedef struct ShownFiles ShownFiles;

/*
 * Open it for the filesystem of @store.  @store and @progress are borrowed.  The error is
 * FILESYSTEM_LOCK_ERROR_IN_USE if a pass works on the filesystem.
 */
ShownFiles *shown_files_open(HashStore *store, ProgressLine *progress, GError **error);
void shown_files_close(ShownFiles *shown);

/*
 * Add the files that reference the extent.  *ret_is_there is false if the extent changed since it was stored.
 * The error is FILESYSTEM_LOCK_ERROR_IN_USE if a pass began.
 */
bool shown_files_add(ShownFiles *shown, const Object *extent, bool *ret_is_there, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Take the equal files found so far.  Each element of *ret is an array (GArray of FileId) of files with one
 * fingerprint, which were not returned before.
 */
bool shown_files_take_equal(ShownFiles *shown, GPtrArray **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Open one of these files; NULL: it no longer exists. */
NamedFile *shown_files_open_file(ShownFiles *shown, const FileId *id);

/* How files of the filesystem are found, as long as @shown lives. */
const KnownWays *shown_files_ways(const ShownFiles *shown);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ShownFiles, shown_files_close)
