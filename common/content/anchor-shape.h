/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * AnchorShape - the default parameters of the anchors of a new store.
 *
 * Every equal run of blocks + window - 1 blocks is found for certain.  A store keeps its shape.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	uint32_t blocks; /* k: block sums in an anchor */
	uint32_t window; /* w: one of so many positions is an anchor */
} AnchorShape;

/* @by_checksums: for extents, whose sums come from the filesystem; else for files that are read. */
AnchorShape anchor_shape(bool by_checksums);
