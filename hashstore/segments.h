/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store-internal.h"

/*
 * Segments - which segments a store has, and when they are merged.
 *
 * A pass writes one whenever its memory is full and at each commit.  When these become too many,
 * those of similar size are merged.  What a pass leaves at its end is merged with older ones until
 * each is several times as large as all smaller ones together, so that an anchor is rewritten a
 * logarithmic number of times and a look-up meets few segments.
 *
 * Thread: the filesystem's worker.
 */

/* Segments of unsettled anchors at most, given the memory that a merge of all would have. */
unsigned segments_unsettled_max(size_t memory_bytes);

/* Merge unsettled ones if there are too many.  No anchors are in memory. */
bool segments_limit_unsettled(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
