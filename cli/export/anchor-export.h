/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * AnchorExport - writes the anchors of a store for comparison with those of other machines: see docs/fleet.md.
 *
 * Each store has a directory of its own below the given one.  Objects keep their ids, and new ones have
 * higher ids.  So an export adds the anchors of objects that the last one did not have, and an interrupted one
 * goes on after its last complete file.
 *
 * Thread: main.
 */
typedef struct {
	uint64_t n_objects;
	uint64_t n_anchors; /* that were added */
	/* Large files that were read in part.  The anchors of their rest will not be added. */
	uint64_t n_halves;
} AnchorExport;

/* The store must have a fleet's key.  On btrfs, paths are looked up on the mounted filesystem, which takes root. */
bool anchor_export_write(HashStore *store, const char *directory, AnchorExport *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
