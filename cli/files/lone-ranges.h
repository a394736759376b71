/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/files/file-pieces.h"

/*
 * LoneRanges - the pieces of one file whose place on the disk the file itself shows no second time.
 *
 * The kernel says "shared" of what any two places in files show, also where both are in one file: such
 * data is gone with it all the same.
 *
 * Thread: main.
 */
typedef struct LoneRanges LoneRanges;

LoneRanges *lone_ranges_new(void);
void lone_ranges_free(LoneRanges *ranges);

bool lone_ranges_add(LoneRanges *ranges, const FilePiece *piece, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Bytes of the pieces that overlap no other one; once, when all are added. */
bool lone_ranges_count(LoneRanges *ranges, uint64_t *ret_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LoneRanges, lone_ranges_free)
