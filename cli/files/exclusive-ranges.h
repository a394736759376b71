/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/files/file-pieces.h"

/*
 * ExclusiveRanges - the pieces of one file whose place on the disk the file itself shows no second time.
 *
 * The kernel says "shared" of what any two places in files show, also where both are in one file: such
 * data is gone with it all the same.
 *
 * Thread: main.
 */
typedef struct ExclusiveRanges ExclusiveRanges;

ExclusiveRanges *exclusive_ranges_new(void);
void exclusive_ranges_free(ExclusiveRanges *ranges);

bool exclusive_ranges_add(ExclusiveRanges *ranges, const FilePiece *piece, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Bytes of the pieces that overlap no other one; once, when all are added. */
bool exclusive_ranges_count(ExclusiveRanges *ranges, uint64_t *ret_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExclusiveRanges, exclusive_ranges_free)
