/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * AnchorShape - how the anchors of a new store are chosen where nobody asks for other numbers.
 *
 * Every equal stretch of blocks + window - 1 blocks is found for certain.  A store keeps the shape that
 * it was made with.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	uint32_t blocks; /* k: block sums in an anchor */
	uint32_t window; /* w: positions of which one is an anchor */
} AnchorShape;

/* @by_checksums: of extents, whose sums come from the filesystem; else of files that are read. */
AnchorShape anchor_shape(bool by_checksums);
