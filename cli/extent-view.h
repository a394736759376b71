/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/file-pieces.h"
#include "cli/file-report.h"

/*
 * ExtentView - what the store and the filesystem know of a btrfs's extents: which files show them,
 * which others equal them, and what keeps them.
 *
 * Who shows an extent is asked under the filesystem's lock, which is held meanwhile: a pass that would
 * begin then finds the filesystem in use.  Where one runs, nothing is asked.
 *
 * Needs CAP_SYS_ADMIN.  Thread: main.
 */
typedef struct ExtentView ExtentView;

/* @file lies on the filesystem; both are borrowed. */
ExtentView *extent_view_open(const NamedFile *file, HashStore *store, GError **error);
void extent_view_close(ExtentView *view);

/* Whether a pass works on the filesystem. */
bool extent_view_is_in_use(const ExtentView *view);

/* Say in @report, and in @extent, what is known of a piece of the file. */
bool extent_view_look(ExtentView *view, const FilePiece *piece, FileReport *report,
		      ReportedExtent *extent, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* After the last piece: list the other files. */
void extent_view_finish(ExtentView *view, FileReport *report);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentView, extent_view_close)
