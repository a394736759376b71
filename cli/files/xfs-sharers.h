/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/files/file-pieces.h"
#include "cli/files/file-report.h"
#include "hashstore/hash-store.h"

/*
 * XfsSharers - finds the other files that share data of a file on XFS, by the filesystem's reverse mapping of
 * blocks.
 *
 * This needs CAP_SYS_ADMIN, and a filesystem made with rmapbt.  Names come from the store.
 *
 * Thread: main.
 */
typedef struct XfsSharers XfsSharers;

/* @file is borrowed. */
XfsSharers *xfs_sharers_new(const NamedFile *file);
void xfs_sharers_free(XfsSharers *sharers);

/* Ask who else references the piece.  The number of pieces and references that are examined is limited. */
void xfs_sharers_add(XfsSharers *sharers, const FilePiece *piece);

/* Whether the answers are complete: all pieces were examined, and the filesystem knew the owners of each. */
bool xfs_sharers_are_whole(const XfsSharers *sharers);

/* Bytes of the pieces that other files reference, as far as is known. */
uint64_t xfs_sharers_bytes(const XfsSharers *sharers);

/* List the files in @report, by descending bytes. */
void xfs_sharers_report(const XfsSharers *sharers, HashStore *store, FileReport *report);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(XfsSharers, xfs_sharers_free)
