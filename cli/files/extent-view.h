/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/files/btrfs-paths.h"
#include "cli/files/file-pieces.h"
#include "cli/files/file-report.h"
#include "hashstore/hash-store.h"

/*
 * ExtentView - what the store and the filesystem know of btrfs extents: which files reference them, which other
 * extents equal them, and what pins them.
 *
 * It serves any number of files of one filesystem, one after another.  Each extent is examined in a
 * FilesystemLook of its own.  If a pass works or begins, no more extents of the file are examined.
 *
 * Needs CAP_SYS_ADMIN.  Thread: main.
 */
typedef struct ExtentView ExtentView;

/* @fd is any file of the filesystem, and stays the caller's; @store is borrowed. */
ExtentView *extent_view_open(int fd, HashStore *store, GError **error);
void extent_view_close(ExtentView *view);

/* Owned by @view. */
BtrfsPaths *extent_view_paths(const ExtentView *view);

/* Begin with @file, which is borrowed. */
bool extent_view_begin(ExtentView *view, const NamedFile *file, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Whether a pass works on the filesystem. */
bool extent_view_is_in_use(const ExtentView *view);

/*
 * Store in @report, and in @ret for each piece, what is known of an extent.  @pieces are all @n pieces of the
 * file that reference it.  Examining each piece alone would take time quadratic in their number.
 */
bool extent_view_look(ExtentView *view, const FilePiece *pieces, size_t n, FileReport *report,
		      ReportedExtent *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Call this after the last piece.  It lists the other files. */
void extent_view_finish(ExtentView *view, FileReport *report);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentView, extent_view_close)
