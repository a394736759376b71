/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/segment.h"

/*
 * SegmentMerge - merges several segments into one, or drops the dead entries of one.
 *
 * Pages that were read are deleted one by one, so that SQLite reuses their space at once.  A large merge has parts.  Each
 * is committed and copied into the database, so a merge needs additional space for one part, and a stop loses one.
 * A source then says how far it was merged (merged_pages and merged_below of Segment).
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	bool (*is_live)(uint32_t object, void *data);
	void *data;
} Liveness;

/* Count live objects in the range of ids of @segments; fewer after a request to stop. */
uint64_t segment_count_live(const HashStore *store, const GPtrArray *segments,
			    const Liveness *liveness);

/*
 * Merge @segments into one, and change them; @liveness NULL: all objects are live.  With @is_counted, the live objects of
 * the new segment's range are counted and stored.  Everything must be committed before.  After an error nothing may be
 * committed.  After a request to stop, the transaction must be rolled back.
 */
bool segment_merge(HashStore *store, const GPtrArray *segments, const Liveness *liveness,
		   bool is_counted, GError **error) G_GNUC_WARN_UNUSED_RESULT;
