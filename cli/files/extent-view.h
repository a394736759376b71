/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/files/btrfs-paths.h"
#include "cli/files/file-pieces.h"
#include "cli/files/file-report.h"
#include "hashstore/hash-store.h"

/*
 * ExtentView - what the store and the filesystem know of a btrfs's extents: which files show them,
 * which others equal them, and what keeps them.
 *
 * It serves any number of files of one filesystem, one after another.  Each extent is asked about in a
 * FilesystemLook of its own.  Where a pass works, or begins, no more is asked of the file.
 *
 * Needs CAP_SYS_ADMIN.  Thread: main.
 */
typedef struct ExtentView ExtentView;

/* @fd is of any file of the filesystem, and stays the caller's; @store is borrowed. */
ExtentView *extent_view_open(int fd, HashStore *store, GError **error);
void extent_view_close(ExtentView *view);

/* The view's. */
BtrfsPaths *extent_view_paths(const ExtentView *view);

/* Begin with @file, which is borrowed. */
bool extent_view_begin(ExtentView *view, const NamedFile *file, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Whether a pass works on the filesystem. */
bool extent_view_is_in_use(const ExtentView *view);

/*
 * Say in @report, and in @ret of each piece, what is known of an extent.  @pieces are all @n of the file that show
 * it: looking at each alone would take the square of their number.
 */
bool extent_view_look(ExtentView *view, const FilePiece *pieces, size_t n, FileReport *report,
		      ReportedExtent *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* After the last piece: list the other files. */
void extent_view_finish(ExtentView *view, FileReport *report);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentView, extent_view_close)
