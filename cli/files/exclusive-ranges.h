/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/files/file-pieces.h"

/*
 * ExclusiveRanges - the pieces of one file whose blocks the file itself does not reference a second time.
 *
 * The kernel reports "shared" for any two references, even if both are in one file.  Such data is still freed
 * with the file.
 *
 * Thread: main.
 */
typedef struct ExclusiveRanges ExclusiveRanges;

ExclusiveRanges *exclusive_ranges_new(void);
void exclusive_ranges_free(ExclusiveRanges *ranges);

bool exclusive_ranges_add(ExclusiveRanges *ranges, const FilePiece *piece, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Count the bytes of pieces that overlap no other piece.  Call it once, after all are added. */
bool exclusive_ranges_count(ExclusiveRanges *ranges, uint64_t *ret_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExclusiveRanges, exclusive_ranges_free)
