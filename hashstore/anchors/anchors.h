/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"
#include "hashstore/database/store.h"

/* Store @anchor.  The row of its object may follow later in the same commit. */
bool hash_store_put_anchor(HashStore *store, const Anchor *anchor, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Count the anchors in all segments, and the segments. */
bool hash_store_count_anchors(HashStore *store, uint64_t *ret_anchors, uint32_t *ret_segments,
			      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Write the anchors held in memory as a segment. */
bool hash_store_flush_anchors(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
