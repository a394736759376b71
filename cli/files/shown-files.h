/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/files/stored-object.h"
#include "cli/terminal/progress-line.h"
#include "hashstore/objects/objects.h"

/*
 * ShownFiles - which files show data extents of a btrfs, in whatever subvolume, and which of them are
 * equal as a whole.
 *
 * Two files are equal if all of their extents are, by the checksums that the store has, in the same
 * order.  Files that are laid out in other extents are not told to be.
 *
 * The files that show an extent are asked for in a FilesystemLook of its own.  So a pass may begin at any time,
 * and the next extent is then refused.  Each file is opened once, and its extents are looked at once.
 *
 * Needs CAP_SYS_ADMIN.  Thread: main.
 */
typedef struct ShownFiles ShownFiles;

/*
 * Of the filesystem of @store, which is borrowed, as @progress is.  The error is FILESYSTEM_LOCK_ERROR_IN_USE where a
 * pass works on it.
 */
ShownFiles *shown_files_open(HashStore *store, ProgressLine *progress, GError **error);
void shown_files_close(ShownFiles *shown);

/*
 * Note the files that show the extent.  *ret_is_there is false if it is not as it was when it was
 * remembered.  The error is FILESYSTEM_LOCK_ERROR_IN_USE where a pass began.
 */
bool shown_files_add(ShownFiles *shown, const Object *extent, bool *ret_is_there, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Take what was noted: each element of *ret is an array (GArray of FileId) of files with one
 * fingerprint, which were not given before.
 */
bool shown_files_take_equal(ShownFiles *shown, GPtrArray **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* One of them, open; NULL: it is not there any more. */
NamedFile *shown_files_open_file(ShownFiles *shown, const FileId *id);

/* How files of the filesystem are found, as long as @shown lives. */
const KnownWays *shown_files_ways(const ShownFiles *shown);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ShownFiles, shown_files_close)
