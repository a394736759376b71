/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/extent-refs.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ExtentTails - the blocks of a data extent of btrfs within which files end.
 *
 * The kernel shares part of a block only if both files end there.  So equal sums are not enough: after the end of a
 * file, its block has zeros on the disk, like a block of another file in the middle.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	uint64_t block;
	uint64_t bytes;     /* of it that the file has; never 0 nor all */
	bool is_everywhere; /* each reference to the block ends within it */
} ExtentTail;

/* Whether one of @refs contains all of @block. */
bool extent_tails_has_whole(const ExtentRef *refs, size_t n_refs, uint64_t block,
			    uint32_t block_bytes);

/* Find the tails (ExtentTail) of @refs, each once; @ret is resized. */
void extent_tails_find(const ExtentRef *refs, size_t n_refs, uint32_t block_bytes, GArray *ret);

/* Whether all of @tails that are in @block are everywhere, and there is one. */
bool extent_tails_end_in(const GArray *tails, uint64_t block);
