/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/files/file-pieces.h"
#include "cli/files/file-report.h"
#include "hashstore/hash-store.h"

/*
 * XfsSharers - which other files show data of a file of an XFS, by what the filesystem keeps of who owns its blocks.
 *
 * That is told to who has CAP_SYS_ADMIN, of filesystems made with rmapbt.  Names are those of the store.
 *
 * Thread: main.
 */
typedef struct XfsSharers XfsSharers;

/* @file is borrowed. */
XfsSharers *xfs_sharers_new(const NamedFile *file);
void xfs_sharers_free(XfsSharers *sharers);

/* Ask who else shows the piece.  No more is asked after so many pieces, or references. */
void xfs_sharers_add(XfsSharers *sharers, const FilePiece *piece);

/* Whether the answers are whole: all that was added was asked, and the filesystem knew of each piece who shows it. */
bool xfs_sharers_are_whole(const XfsSharers *sharers);

/* Bytes of the pieces that other files show, as far as was told. */
uint64_t xfs_sharers_bytes(const XfsSharers *sharers);

/* List them in @report, those first that have most bytes. */
void xfs_sharers_report(const XfsSharers *sharers, HashStore *store, FileReport *report);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(XfsSharers, xfs_sharers_free)
